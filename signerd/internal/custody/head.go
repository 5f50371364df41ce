package custody

import (
	"context"
	"errors"

	"countersign/shared/fault"
	"countersign/signerd/internal/audit"
	"countersign/signerd/internal/custody/internal/keyring"
)

// headItem is how far the audit log has come. It is no secret, and lies in the
// key store because that is not in the state folder.
const headItem = "audit.head"

// Outside reports whether the key store can remember something outside the state
// folder, so that it is not put back together with it.
func (v *Vault) Outside() bool { return v.backend != keyring.File && v.backend != Credential }

// Head is the newest head of the audit log that was kept, or the zero one.
func (v *Vault) Head(ctx context.Context) (audit.Head, error) {
	text, err := v.store.Get(ctx, headItem)
	if errors.Is(err, keyring.ErrNotFound) {
		return audit.Head{}, nil
	}
	if err != nil {
		return audit.Head{}, unavailable(v.backend, err)
	}
	var head audit.Head
	if err := head.UnmarshalText(text); err != nil {
		return audit.Head{}, fault.New(fault.StateLocked, "what the key store remembers of the audit log cannot be read: remove the item %s from it, if you know why", headItem).Because(err)
	}
	return head, nil
}

// KeepHead remembers how far the audit log has come.
func (v *Vault) KeepHead(ctx context.Context, head audit.Head) error {
	if err := v.store.Set(ctx, headItem, []byte(head.String())); err != nil {
		return unavailable(v.backend, err)
	}
	return nil
}
