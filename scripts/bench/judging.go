package main

import "context"

// judgingTests is where the benchmarks of judging are: no other program can reach
// what they measure.
const judgingTests = "./signerd/internal/judge/speed"

// The benchmarks of judgingTests.
const (
	benchSignature = "BenchmarkSignature"
	benchJudging   = "BenchmarkDecodeEffectsPolicy"
	benchGuarded   = "BenchmarkGuardedJudgement"
)

// fewRuns and manyRuns are how many swaps are judged before their allocations
// are compared.
const fewRuns, manyRuns = "100x", "10000x"

func measureJudging(ctx context.Context, folder string) ([]row, error) {
	binary, err := buildBenchmarks(ctx, folder, judgingTests)
	if err != nil {
		return nil, err
	}
	times, err := timeBenchmarks(ctx, binary, "100ms", benchSignature, benchJudging, benchGuarded)
	if err != nil {
		return nil, err
	}
	few, err := runBenchmarks(ctx, binary, benchJudging, fewRuns)
	if err != nil {
		return nil, err
	}
	many, err := runBenchmarks(ctx, binary, benchJudging, manyRuns)
	if err != nil {
		return nil, err
	}
	signature := times[benchSignature]
	return []row{
		row{Name: "decode_effects_policy: a swap of 1,000 bytes, over one signature", Value: times[benchJudging], Unit: "us"}.over(signature).judged(10),
		row{Name: "the same with its guard: decoded and judged twice", Value: times[benchGuarded], Unit: "us"}.over(signature),
		row{Name: "decode_effects_policy: allocations in 10,000 runs, over 100 runs", Value: many[benchJudging].allocations, Unit: "a run"}.
			over(few[benchJudging].allocations).judged(1.01),
	}, nil
}
