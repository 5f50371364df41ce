package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"countersign/signerd/internal/config"
	"countersign/signerd/internal/custody"
)

// maxSecretText bounds what key import reads: a JSON array of 64 numbers has
// at most 322 characters.
const maxSecretText = 1024

func vaultOptions(cfg config.Config) custody.Options {
	return custody.Options{
		Backend: cfg.Keyring.Backend, StateDir: cfg.StateDir, PassphraseFile: cfg.Keyring.PassphraseFile,
		CredentialDir: cfg.Keyring.CredentialDir, Timeout: cfg.Keyring.Timeout,
	}
}

func (c *console) vault() (*custody.Vault, config.Config, error) {
	cfg, err := c.load()
	if err != nil {
		return nil, config.Config{}, err
	}
	if err := custody.HardenProcess(); err != nil {
		return nil, config.Config{}, fmt.Errorf("protect the process's memory: %w", err)
	}
	vault, err := custody.Open(vaultOptions(cfg))
	return vault, cfg, err
}

func (c *console) keyCommand() *cobra.Command {
	return group("key", "Create, import, list and remove keys",
		c.keyNewCommand(), c.keyImportCommand(), c.keyListCommand(), c.keyRemoveCommand())
}

// keyName is the optional argument of key commands.
func keyName(cfg config.Config, args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	return cfg.Key.Name
}

func (c *console) keyNewCommand() *cobra.Command {
	return c.jsonFlag(&cobra.Command{
		Use:   "new [NAME]",
		Short: "Create a key in the configured backend and print its address",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			vault, cfg, err := c.vault()
			if err != nil {
				return err
			}
			name := keyName(cfg, args)
			address, err := vault.Create(cmd.Context(), name)
			if err != nil {
				return err
			}
			return c.printKey("created", custody.Key{Name: name, PublicKey: address}, vault.Backend())
		},
	})
}

func (c *console) keyImportCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "import [NAME]",
		Short: "Import a key from standard input or a file, and print its address",
		Long: `Import a key from standard input or from --file, and print its address.

Accepted are the JSON array that solana-keygen writes, base58 and base64, of the
64-byte keypair or the 32-byte seed. A keypair whose public half does not belong
to its secret half is refused. The secret is never taken from the command line,
where other processes could read it, and never printed.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			vault, cfg, err := c.vault()
			if err != nil {
				return err
			}
			secret, err := c.readSecret(file)
			if err != nil {
				return err
			}
			name := keyName(cfg, args)
			address, err := vault.Import(cmd.Context(), name, secret)
			clear(secret)
			if err != nil {
				return err
			}
			return c.printKey("imported", custody.Key{Name: name, PublicKey: address}, vault.Backend())
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "read the secret from this file instead of standard input")
	return c.jsonFlag(cmd)
}

func (c *console) readSecret(file string) ([]byte, error) {
	source := c.in
	if file != "" {
		opened, err := os.Open(file)
		if err != nil {
			return nil, errors.New("the key file cannot be opened")
		}
		defer opened.Close()
		source = opened
	}
	secret, err := io.ReadAll(io.LimitReader(source, maxSecretText+1))
	if err != nil || len(secret) > maxSecretText {
		return nil, errors.New("the key cannot be read: it must be one key and nothing else")
	}
	return secret, nil
}

func (c *console) keyListCommand() *cobra.Command {
	return c.jsonFlag(&cobra.Command{
		Use:   "list",
		Short: "List the keys in the configured backend",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			vault, _, err := c.vault()
			if err != nil {
				return err
			}
			keys, err := vault.List(cmd.Context())
			if err != nil {
				return err
			}
			if c.json {
				return c.printKeysJSON(keys, vault.Backend())
			}
			if len(keys) == 0 {
				fmt.Fprintf(c.out, "no keys in backend %s; create one with 'signerd key new'\n", vault.Backend())
			}
			for _, key := range keys {
				fmt.Fprintf(c.out, "%s\t%s\n", key.Name, key.PublicKey)
			}
			return nil
		},
	})
}

func (c *console) keyRemoveCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a key from the configured backend, for ever",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes {
				return usageError{errors.New("removing a key cannot be undone and loses what it holds; add --yes if a copy exists elsewhere")}
			}
			vault, _, err := c.vault()
			if err != nil {
				return err
			}
			if err := vault.Remove(cmd.Context(), args[0]); err != nil {
				return err
			}
			fmt.Fprintf(c.out, "removed %s\n", args[0])
			return nil
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "remove without asking")
	return cmd
}

// keyView is a key as scripts read it.
type keyView struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Backend string `json:"backend"`
}

func (c *console) printKey(verb string, key custody.Key, backend string) error {
	if c.json {
		return json.NewEncoder(c.out).Encode(keyView{key.Name, key.PublicKey.String(), backend})
	}
	fmt.Fprintf(c.out, "%s key %q in backend %s\naddress: %s\n", verb, key.Name, backend, key.PublicKey)
	return nil
}

func (c *console) printKeysJSON(keys []custody.Key, backend string) error {
	views := make([]keyView, 0, len(keys))
	for _, key := range keys {
		views = append(views, keyView{key.Name, key.PublicKey.String(), backend})
	}
	return json.NewEncoder(c.out).Encode(views)
}
