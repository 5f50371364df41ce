package solana_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	reference "github.com/gagliardetto/solana-go"

	"countersign/shared/solana"
)

var baseMint = solana.MustPublicKey("4UeLCRqARmfb6e6KQijtiktqqXUxbfk6jZng7DhuBAGS")

// Addresses computed by another implementation.
func TestFindProgramAddressMeetsVectors(t *testing.T) {
	wallet, _ := testKey(1)
	tests := []struct {
		name    string
		program solana.PublicKey
		seeds   [][]byte
		want    string
		bump    uint8
	}{
		{"fee share config", solana.FeeShareV2Program, [][]byte{[]byte("fee_share_config"), baseMint[:], solana.WrappedSOL[:]},
			"7gPgyD2iC73EUXc9eF9cBdemkUYfpKGLBuvLPPEwccQA", 253},
		{"fee share authority", solana.FeeShareV2Program, [][]byte{[]byte("fee_share_authority"), baseMint[:], solana.WrappedSOL[:]},
			"AchhausQez6Ef3gG8RAntxuVQhpMwjkDj67pK9G36bVP", 255},
		{"partner config", solana.FeeShareV2Program, [][]byte{[]byte("partner_config"), wallet[:]},
			"DRRGA4Eg6Y6SFAjbuMLwgRiHhkHZfRD1xQUsVn6qQaVj", 253},
		{"user vault", solana.FeeShareV2Program, [][]byte{[]byte("user_fee_vault"), wallet[:], baseMint[:], solana.WrappedSOL[:]},
			"F3L7hdwuZ6hYF66Jb4xLrjgZ52a9qBQtNP43WnSb7hJq", 254},
		{"v1 vault", solana.FeeShareV1Program, [][]byte{[]byte("vault"), wallet[:], baseMint[:]},
			"5oygKPXnfhMZsVYZBx7HdUUEm9S7hb5f6azXi2FftszE", 255},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, bump, err := solana.FindProgramAddress(test.seeds, test.program)
			if err != nil || got.String() != test.want || bump != test.bump {
				t.Errorf("FindProgramAddress = %s, %d, %v, want %s, %d", got, bump, err, test.want, test.bump)
			}
			if got.OnCurve() {
				t.Error("a derived address has a private key")
			}
		})
	}
}

func TestAssociatedTokenAddressMeetsVectors(t *testing.T) {
	wallet, _ := testKey(1)
	authority := solana.MustPublicKey("AchhausQez6Ef3gG8RAntxuVQhpMwjkDj67pK9G36bVP")
	for _, test := range []struct {
		owner, mint, program solana.PublicKey
		want                 string
	}{
		{wallet, solana.WrappedSOL, solana.TokenProgram, "7azMPufyz8EfKAif9WajHfBbFj5ic8C8rLfaTBfKdN1A"},
		{wallet, baseMint, solana.TokenProgram, "FqBLCqbJjriKqP2H5gB5ZgGU8WbhbAWsfJvm9uVqycUF"},
		{wallet, baseMint, solana.Token2022Program, "xoutEv9fp3HkucYqHjp6rjN8PjsnpK5uujAdhZX4dLu"},
		{authority, solana.WrappedSOL, solana.TokenProgram, "Fb4sNbYuntuJF6hFrDbKP6KuKKCCuuDNQCD663EEErMH"},
	} {
		if got := solana.AssociatedTokenAddress(test.owner, test.mint, test.program); got.String() != test.want {
			t.Errorf("account of %s of mint %s is %s, want %s", test.owner, test.mint, got, test.want)
		}
	}
}

func TestFindProgramAddressRefusesSeedsOverTheLimits(t *testing.T) {
	long := bytes.Repeat([]byte{1}, 33)
	if _, _, err := solana.FindProgramAddress([][]byte{long[:32]}, solana.TokenProgram); err != nil {
		t.Errorf("a seed of 32 bytes: %v", err)
	}
	if _, _, err := solana.FindProgramAddress([][]byte{long}, solana.TokenProgram); err == nil {
		t.Error("a seed of 33 bytes was accepted")
	}
	// The bump is a seed too: 15 leave room for it, 16 do not.
	if _, _, err := solana.FindProgramAddress(make([][]byte, 15), solana.TokenProgram); err != nil {
		t.Errorf("15 seeds: %v", err)
	}
	if _, _, err := solana.FindProgramAddress(make([][]byte, 16), solana.TokenProgram); err == nil {
		t.Error("16 seeds were accepted")
	}
}

func TestFindProgramAddressAgreesWithTheLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seeds := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 34), 0, 17).Draw(t, "seeds")
		program := solana.PublicKey(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "program"))
		got, bump, err := solana.FindProgramAddress(seeds, program)
		want, wantBump, wantErr := reference.FindProgramAddress(seeds, reference.PublicKey(program))
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("errors differ: ours %v, theirs %v", err, wantErr)
		}
		if err == nil && (got != solana.PublicKey(want) || bump != wantBump) {
			t.Fatalf("ours %s bump %d, theirs %s bump %d", got, bump, want, wantBump)
		}
		if got.OnCurve() != reference.PublicKey(got).IsOnCurve() || program.OnCurve() != reference.PublicKey(program).IsOnCurve() {
			t.Fatal("OnCurve differs")
		}
	})
}
