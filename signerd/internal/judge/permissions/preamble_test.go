package permissions

// preamble is how the document begins. The rest is rendered.
const preamble = `# What signerd signs

Every instruction of every program that signerd decodes, in every role that the
wallet can play in it. The table is written by a test, which builds each
transaction in each message format, has it judged as signerd would, and compares
the verdict with a table that was written by hand from the design; it fails where
they differ, where this document is out of date, and where the decoder knows an
instruction that is not here. What is allowed was also signed and sent to a local
chain, which did what the effects had said, to the lamport.

    go test ./signerd/internal/judge/permissions -update

Each instruction stands once beside a payment and once beside a trade that were
agreed: a transfer of SOL to a payee, or a call of an allowed program whose
workings the bytes do not show. What the instruction itself pays to the payee was
agreed as well. Everybody else who has to sign has signed.

The wallet as **payer** funds what is opened (or pays the network), as **signer**
only signs, also as one of several, as **authority** acts by somebody's leave, as
**owner** signs for its own account, as **delegate** for somebody else's, as
**source** has an account that gives (for tokens: on somebody else's signature), as
**destination** has the account that receives, and as **none** has no part.

*allowed, complete*: every effect follows from the bytes. *guarded*: signerd adds
assertions that the chain enforces. *unguarded*: others have signed already, so
nothing can be added, and the policy asks a person by default. Allowed means that no
built-in rule refuses it; the owner's policy still decides. v1 is refused by the
default policy.
`
