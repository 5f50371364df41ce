// Package decode turns the bytes of a transaction into facts: who signs, which
// accounts each instruction touches and in what role, what each instruction of
// a known program does, and what the fee is. What it cannot explain it refuses;
// it skips nothing and believes nothing that is not in the bytes.
//
// It is pure: no clock, no network, no files. Every later stage of signerd may
// import it. Whether a decoded instruction may be signed is not decided here;
// instructions that only a guard may contain carry their Refusal with them.
//
// It has a file of tables for each known program.
package decode
