package keyring

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	library "github.com/99designs/keyring"
)

// stuck never answers, as a prompt that nobody sees.
type stuck struct {
	library.Keyring
	calls chan struct{}
	never chan struct{}
}

func (s stuck) Get(string) (library.Item, error) {
	s.calls <- struct{}{}
	<-s.never
	return library.Item{}, nil
}

func TestGiveUpOnStuckStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ring := stuck{calls: make(chan struct{}, 10), never: make(chan struct{})}
		store := &Store{ring: ring, options: Options{Timeout: 3 * time.Second}, busy: make(chan struct{}, 1)}
		store.busy <- struct{}{}
		for range 3 {
			begin := time.Now()
			if _, err := store.Get(t.Context(), "x"); !errors.Is(err, ErrTimeout) {
				t.Errorf("got %v", err)
			}
			if took := time.Since(begin); took != 3*time.Second {
				t.Errorf("gave up after %v, want 3s", took)
			}
		}
		if got := len(ring.calls); got != 1 {
			t.Errorf("%d calls pile up in the stuck store, want 1", got)
		}
		close(ring.never)
		synctest.Wait()
		if _, err := store.Get(t.Context(), "x"); err != nil {
			t.Errorf("after the prompt was answered: %v", err)
		}
	})
}
