package judge

import "countersign/signerd/internal/chain"

// Pin is a program as it was when the owner looked at it. It has a name here
// for the policy, which says what is pinned and reaches no chain itself.
type Pin = chain.Pin
