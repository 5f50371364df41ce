package tools

import (
	"strconv"
	"strings"

	"countersign/mcpd/internal/bags"
	"countersign/mcpd/internal/caps"
	"countersign/mcpd/internal/intent"
	"countersign/mcpd/internal/plan"
	"countersign/mcpd/internal/propose"
	"countersign/shared/amount"
	"countersign/shared/solana"
)

// AmountView is an amount as results carry it.
type AmountView struct {
	Amount          string `json:"amount"`
	AmountBaseUnits string `json:"amount_base_units"`
	Decimals        uint8  `json:"decimals"`
	Mint            string `json:"mint"`
}

// ViewAmount writes an amount.
func ViewAmount(units amount.Units, decimals uint8, mint solana.PublicKey) AmountView {
	return AmountView{Amount: units.Decimal(decimals), AmountBaseUnits: units.String(), Decimals: decimals, Mint: intent.AssetText(mint)}
}

// ViewSOL writes lamports.
func ViewSOL(units amount.Units) AmountView { return ViewAmount(units, amount.SOLDecimals, amount.SOL) }

// NetworkView says on which network something is.
type NetworkView struct {
	Cluster     string `json:"cluster"`
	Label       string `json:"label"`
	GenesisHash string `json:"genesis_hash"`
}

// mainnetLabel is on everything that touches real funds.
const mainnetLabel = "MAINNET — real funds"

// ViewNetwork labels a network. The genesis hash decides, whatever the owner
// calls the cluster.
func ViewNetwork(cluster string, genesis solana.Hash) *NetworkView {
	if genesis.IsZero() {
		return nil
	}
	label := strings.ToUpper(cluster) + " — not a public network"
	if public, known := solana.PublicCluster(genesis); known && public != "mainnet" {
		label = strings.ToUpper(cluster) + " — test funds"
	}
	if public, _ := solana.PublicCluster(genesis); public == "mainnet" || strings.HasPrefix(strings.ToLower(cluster), "mainnet") {
		label = mainnetLabel
	}
	return &NetworkView{Cluster: cluster, Label: label, GenesisHash: genesis.String()}
}

// WindowView is one cap.
type WindowView struct {
	Name     string `json:"name"`
	Mint     string `json:"mint,omitempty"`
	Cap      string `json:"cap"`
	Used     string `json:"used"`
	Reserved string `json:"reserved"`
	Left     string `json:"left"`
}

// LimitsView is what may still be spent.
type LimitsView struct {
	AsOf    string       `json:"as_of"`
	Windows []WindowView `json:"windows"`
}

// ViewLimits writes limits, or nil where there are none.
func ViewLimits(limits caps.Limits) *LimitsView {
	if len(limits.Windows) == 0 {
		return nil
	}
	view := &LimitsView{AsOf: Timestamp(limits.AsOf), Windows: []WindowView{}}
	for _, window := range limits.Windows {
		entry := WindowView{
			Name: window.Name, Cap: window.Cap.Decimal(window.Decimals), Used: window.Used.Decimal(window.Decimals),
			Reserved: window.Reserved.Decimal(window.Decimals), Left: window.Left.Decimal(window.Decimals),
		}
		if window.Name != caps.WindowTransactions {
			entry.Mint = intent.AssetText(window.Mint)
		}
		view.Windows = append(view.Windows, entry)
	}
	return view
}

// ChangeView is what the wallet gives and gets of one asset.
type ChangeView struct {
	Out AmountView `json:"out"`
	In  AmountView `json:"in"`
}

func viewChanges(changes []propose.Change) []ChangeView {
	views := []ChangeView{}
	for _, change := range changes {
		views = append(views, ChangeView{Out: ViewAmount(change.Out, change.Decimals, change.Mint), In: ViewAmount(change.In, change.Decimals, change.Mint)})
	}
	return views
}

// PaymentView is an amount that somebody else receives.
type PaymentView struct {
	Recipient       string `json:"recipient"`
	Name            string `json:"name,omitempty"`
	Mint            string `json:"mint"`
	AmountBaseUnits string `json:"amount_base_units"`
}

// FindingView is something a person should know.
type FindingView struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// EffectsView is what the signer found in one transaction.
type EffectsView struct {
	Class        string        `json:"class"`
	Simulated    bool          `json:"simulated"`
	Changes      []ChangeView  `json:"changes"`
	BaseFee      AmountView    `json:"base_fee"`
	PriorityFee  AmountView    `json:"priority_fee"`
	Tip          AmountView    `json:"tip"`
	Rent         AmountView    `json:"rent"`
	RentReturned AmountView    `json:"rent_returned"`
	Payments     []PaymentView `json:"payments,omitempty"`
	Programs     []string      `json:"programs,omitempty"`
	Instructions []string      `json:"instructions,omitempty"`
	Findings     []FindingView `json:"findings,omitempty"`
}

func viewEffects(effects propose.Effects) EffectsView {
	view := EffectsView{
		Class: effects.Class, Simulated: effects.Simulated, Changes: viewChanges(effects.Changes),
		BaseFee: ViewSOL(effects.BaseFee), PriorityFee: ViewSOL(effects.PriorityFee), Tip: ViewSOL(effects.Tip),
		Rent: ViewSOL(effects.Rent), RentReturned: ViewSOL(effects.RentReturned), Instructions: effects.Instructions,
	}
	for _, payment := range effects.Payments {
		view.Payments = append(view.Payments, PaymentView{Recipient: payment.Recipient.String(), Name: payment.Name, Mint: intent.AssetText(payment.Mint), AmountBaseUnits: payment.Amount.String()})
	}
	for _, program := range effects.Programs {
		view.Programs = append(view.Programs, program.String())
	}
	for _, finding := range effects.Findings {
		view.Findings = append(view.Findings, FindingView(finding))
	}
	return view
}

// ProposalView is a proposal.
type ProposalView struct {
	ID               string        `json:"id"`
	Tier             string        `json:"tier"`
	ConfirmationCode string        `json:"confirmation_code,omitempty"`
	ExpiresAt        string        `json:"expires_at,omitempty"`
	Effects          []EffectsView `json:"effects"`
	MaxOut           []AmountView  `json:"max_out"`
	MinIn            []AmountView  `json:"min_in"`
	MaxFee           AmountView    `json:"max_fee"`
	MaxRent          AmountView    `json:"max_rent"`
	Charge           []AmountView  `json:"charge,omitempty"`
	NoLimitApplies   bool          `json:"no_limit_applies"`
}

func viewAssets(assets []plan.Asset, mints map[solana.PublicKey]uint8) []AmountView {
	views := []AmountView{}
	for _, asset := range assets {
		views = append(views, ViewAmount(asset.Amount, decimalsIn(mints, asset.Mint), asset.Mint))
	}
	return views
}

func decimalsIn(mints map[solana.PublicKey]uint8, mint solana.PublicKey) uint8 {
	if mint == amount.SOL {
		return amount.SOLDecimals
	}
	return mints[mint]
}

func viewProposal(proposal propose.Proposal, mints map[solana.PublicKey]uint8, uncapped bool) *ProposalView {
	view := &ProposalView{
		ID: proposal.ID, Tier: string(proposal.Tier), ConfirmationCode: proposal.Code, ExpiresAt: Timestamp(proposal.ExpiresAt), Effects: []EffectsView{},
		MaxOut: viewAssets(proposal.Bounds.MaxOut, mints), MinIn: viewAssets(proposal.Bounds.MinIn, mints),
		MaxFee: ViewSOL(proposal.Bounds.MaxFee), MaxRent: ViewSOL(proposal.Bounds.MaxRent),
		Charge: viewAssets(proposal.Charge, mints), NoLimitApplies: uncapped,
	}
	for _, effects := range proposal.Effects {
		view.Effects = append(view.Effects, viewEffects(effects))
	}
	return view
}

// QuoteView is a price.
type QuoteView struct {
	In             AmountView `json:"in"`
	ExpectedOut    AmountView `json:"expected_out"`
	MinOut         AmountView `json:"min_out"`
	SlippageBps    uint16     `json:"slippage_bps"`
	PriceImpact    string     `json:"price_impact,omitempty"`
	PlatformFeeBps uint64     `json:"platform_fee_bps,omitempty"`
	Venues         []string   `json:"venues,omitempty"`
}

// ViewQuote writes a quote.
func ViewQuote(quote bags.Quote, mints map[solana.PublicKey]uint8) *QuoteView {
	request := quote.Request
	in, out := decimalsIn(mints, request.Input), decimalsIn(mints, request.Output)
	view := &QuoteView{
		In: ViewAmount(request.Amount, in, request.Input), ExpectedOut: ViewAmount(quote.Out, out, request.Output),
		MinOut: ViewAmount(quote.MinOut, out, request.Output), SlippageBps: request.SlippageBps,
		PriceImpact: quote.PriceImpact, PlatformFeeBps: quote.PlatformFeeBps,
	}
	for _, venue := range quote.Venues {
		view.Venues = append(view.Venues, venue.Display())
	}
	return view
}

// ProgramErrorView is why a transaction failed on chain.
type ProgramErrorView struct {
	Program     string  `json:"program,omitempty"`
	Instruction *uint32 `json:"instruction,omitempty"`
	Code        string  `json:"code"`
	Text        string  `json:"text"`
}

// TransactionView is what became of one transaction.
type TransactionView struct {
	Signature string            `json:"signature"`
	Outcome   string            `json:"outcome"`
	Slot      string            `json:"slot,omitempty"`
	Fee       AmountView        `json:"fee"`
	Changes   []ChangeView      `json:"changes"`
	Error     *ProgramErrorView `json:"error,omitempty"`
}

// ReceiptView is a stored outcome.
type ReceiptView struct {
	ProposalID           string            `json:"proposal_id"`
	Tool                 string            `json:"tool"`
	Outcome              string            `json:"outcome"`
	State                string            `json:"state,omitempty"`
	Replayed             bool              `json:"replayed"`
	Transactions         []TransactionView `json:"transactions"`
	ExpectedTransactions uint32            `json:"expected_transactions,omitempty"`
	CreatedAt            string            `json:"created_at,omitempty"`
	FinishedAt           string            `json:"finished_at,omitempty"`
	Correlation          string            `json:"correlation,omitempty"`
	AuditProof           string            `json:"audit_proof,omitempty"`
}

// ViewReceipt writes a receipt.
func ViewReceipt(receipt propose.Receipt) *ReceiptView {
	view := &ReceiptView{
		ProposalID: receipt.ProposalID, Tool: receipt.Tool, Outcome: string(receipt.Outcome), Replayed: receipt.Replayed,
		Transactions: []TransactionView{}, ExpectedTransactions: receipt.Expected,
		CreatedAt: Timestamp(receipt.CreatedAt), FinishedAt: Timestamp(receipt.FinishedAt),
		Correlation: receipt.Correlation, AuditProof: receipt.Proof,
	}
	for _, tx := range receipt.Transactions {
		view.Transactions = append(view.Transactions, viewTransaction(tx))
	}
	return view
}

func viewTransaction(tx propose.TransactionReceipt) TransactionView {
	view := TransactionView{Outcome: string(tx.Outcome), Fee: ViewSOL(tx.Fee), Changes: viewChanges(tx.Changes)}
	if !tx.Signature.IsZero() {
		view.Signature = tx.Signature.String()
	}
	if tx.Slot > 0 {
		view.Slot = strconv.FormatUint(tx.Slot, 10)
	}
	if tx.Error != nil {
		view.Error = &ProgramErrorView{Instruction: tx.Error.Instruction, Code: tx.Error.Code, Text: tx.Error.Text}
		if !tx.Error.Program.IsZero() {
			view.Error.Program = tx.Error.Program.String()
		}
	}
	return view
}
