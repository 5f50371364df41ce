package bagsandbox

import (
	"context"
	"strings"
	"unicode/utf8"

	"countersign/scripts/sandbox/internal/strictjson"
)

var (
	bulkFields = strictjson.Fields{"items": strictjson.Array}
	itemFields = strictjson.Fields{"username": strictjson.String, "provider": strictjson.String}
)

const (
	maxItems    = 100
	maxUsername = 100
)

type platformData struct {
	ID          string `json:"id"`
	Username    string `json:"username"`
	DisplayName string `json:"display_name"`
	AvatarURL   string `json:"avatar_url"`
}

type resolved struct {
	Username string        `json:"username"`
	Provider string        `json:"provider"`
	Platform *platformData `json:"platformData"`
	Wallet   *string       `json:"wallet"`
}

// resolveWallets knows two users: sample_creator, and one whose display name
// is hostile.
func (s *Sandbox) resolveWallets(_ context.Context, c call) (any, error) {
	items := strictjson.Items(c.body["items"])
	if len(items) == 0 || len(items) > maxItems {
		return nil, badRequest("items must have 1 to %d entries", maxItems)
	}
	seen := map[string]bool{}
	answers := []resolved{}
	for i, raw := range items {
		item, err := strictjson.Decode(raw, itemFields)
		if err != nil {
			return nil, badRequest("items[%d]: %s", i, err)
		}
		answer, err := s.resolve(strictjson.Text(item["username"]), strictjson.Text(item["provider"]))
		if err != nil {
			return nil, badRequest("items[%d]: %s", i, err)
		}
		who := answer.Provider + "\x00" + answer.Username
		if seen[who] {
			return nil, badRequest("items[%d] is repeated", i)
		}
		seen[who] = true
		answers = append(answers, answer)
	}
	return answers, nil
}

func (s *Sandbox) resolve(username, provider string) (resolved, error) {
	if err := isOneOf("twitter", "tiktok", "kick", "github")(provider); err != nil {
		return resolved{}, badRequest("provider %s", err)
	}
	username = strings.ToLower(strings.TrimPrefix(username, "@"))
	if n := utf8.RuneCountInString(username); n == 0 || n > maxUsername {
		return resolved{}, badRequest("username must have 1 to %d characters", maxUsername)
	}
	answer := resolved{Username: username, Provider: provider}
	shown := map[string]string{"sample_creator": "Sample Creator", "second": HostileUsername}[username]
	if shown == "" || provider != "twitter" {
		return answer, nil
	}
	wallet := s.layout.Wallet
	if username == "second" {
		wallet = s.layout.Thief
	}
	found := wallet.String()
	answer.Wallet = &found
	answer.Platform = &platformData{ID: "1001", Username: username, DisplayName: shown, AvatarURL: "https://example.invalid/a.png"}
	return answer, nil
}
