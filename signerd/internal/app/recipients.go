package app

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	operatorv1 "countersign/proto/operator/v1"
	"countersign/shared/solana"
)

func (c *console) recipientsCommand() *cobra.Command {
	return group("recipients", "Keep the address book: names that assets may be sent to",
		c.addRecipientCommand(), c.listRecipientsCommand(), c.removeRecipientCommand())
}

// recipientView is an entry of the book as scripts read it.
type recipientView struct {
	Name    string `json:"name"`
	Address string `json:"address"`
}

func viewRecipient(entry *operatorv1.Recipient) recipientView {
	return recipientView{Name: entry.GetName(), Address: base58Of(entry.GetAddress())}
}

func (c *console) addRecipientCommand() *cobra.Command {
	var insist bool
	cmd := &cobra.Command{
		Use:   "add NAME ADDRESS",
		Short: "Give a wallet a name that transfers may use",
		Long: `Give a wallet a name that transfers may use, so that nobody has to copy its
address. Compare the address with its source letter by letter: a transfer to the
name goes there, and cannot be taken back.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			address, err := solana.ParsePublicKey(args[1])
			if err != nil {
				return usageError{fmt.Errorf("%s is no full wallet address (32 bytes in base58): %w", args[1], err)}
			}
			request := &operatorv1.AddRecipientRequest{
				Recipient: &operatorv1.Recipient{Name: args[0], Address: address[:]}, Insist: insist,
			}
			if err := c.askOperator(cmd.Context(), func(ctx context.Context, client operatorv1.OperatorServiceClient) error {
				_, err := client.AddRecipient(ctx, request)
				return err
			}); err != nil {
				return err
			}
			return c.printRecipient("added", recipientView{Name: args[0], Address: address.String()})
		},
	}
	cmd.Flags().BoolVar(&insist, "look-alike-ok", false, "add it although it looks like an address that is known")
	return c.jsonFlag(cmd)
}

func (c *console) listRecipientsCommand() *cobra.Command {
	return c.jsonFlag(&cobra.Command{
		Use:   "list",
		Short: "Show the names and their addresses",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			book, err := c.askRecipients(cmd.Context())
			if err != nil {
				return err
			}
			if c.json {
				return json.NewEncoder(c.out).Encode(book)
			}
			if len(book) == 0 {
				fmt.Fprintln(c.out, "the address book is empty; add to it with signerd recipients add NAME ADDRESS")
				return nil
			}
			table := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
			fmt.Fprintln(table, "NAME\tADDRESS")
			for _, entry := range book {
				fmt.Fprintf(table, "%s\t%s\n", entry.Name, entry.Address)
			}
			return table.Flush()
		},
	})
}

func (c *console) removeRecipientCommand() *cobra.Command {
	return c.jsonFlag(&cobra.Command{
		Use:   "remove NAME",
		Short: "Take a name out of the address book",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var removed *operatorv1.RemoveRecipientResponse
			if err := c.askOperator(cmd.Context(), func(ctx context.Context, client operatorv1.OperatorServiceClient) (err error) {
				removed, err = client.RemoveRecipient(ctx, &operatorv1.RemoveRecipientRequest{Name: args[0]})
				return err
			}); err != nil {
				return err
			}
			return c.printRecipient("removed", viewRecipient(removed.GetRecipient()))
		},
	})
}

func (c *console) askRecipients(ctx context.Context) ([]recipientView, error) {
	book := []recipientView{}
	err := c.askOperator(ctx, func(ctx context.Context, client operatorv1.OperatorServiceClient) error {
		answer, err := client.ListRecipients(ctx, &operatorv1.ListRecipientsRequest{})
		for _, entry := range answer.GetRecipients() {
			book = append(book, viewRecipient(entry))
		}
		return err
	})
	return book, err
}

func (c *console) printRecipient(what string, entry recipientView) error {
	if c.json {
		return json.NewEncoder(c.out).Encode(entry)
	}
	fmt.Fprintln(c.out, what, entry.Name, entry.Address)
	return nil
}
