// Package hostile holds no code: its tests set programs that rob the wallet
// upon it on a real VM. Each shows first, with bytes that nobody judged, that
// the loss is real; then that signerd in front refuses, or, where the node
// lies or the program behaves while it is watched, that the chain undoes
// everything and only the fee is lost, and that the receipt says so. What the
// wallet has is read by an observer of the tests' own. Nothing imports it.
package hostile
