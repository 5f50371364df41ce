package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// speedTests is where signerd's benchmarks are: no other program can reach
// what they measure.
const speedTests = "./signerd/internal/judge/speed"

// The benchmarks of speedTests.
const (
	benchSignature = "BenchmarkSignature"
	benchJudging   = "BenchmarkDecodeEffectsPolicy"
	benchGuarded   = "BenchmarkGuardedJudgement"
)

// judgingRounds is how often the benchmarks run, one after the other, so that a
// noisy moment meets floor and measured alike.
const judgingRounds = 7

// fewRuns and manyRuns are how many swaps are judged before their allocations
// are compared.
const fewRuns, manyRuns = "100x", "10000x"

func measureJudging(ctx context.Context, folder string) ([]row, error) {
	binary := filepath.Join(folder, "speed.test")
	if out, err := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, speedTests).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s: %w\n%s", speedTests, err, out)
	}
	times := make(map[string][]float64)
	for range judgingRounds {
		results, err := runBenchmarks(ctx, binary, ".", "100ms")
		if err != nil {
			return nil, err
		}
		for _, name := range []string{benchSignature, benchJudging, benchGuarded} {
			result, measured := results[name]
			if !measured {
				return nil, fmt.Errorf("%s has no %s", speedTests, name)
			}
			times[name] = append(times[name], result.nanoseconds/1000)
		}
	}
	few, err := runBenchmarks(ctx, binary, benchJudging, fewRuns)
	if err != nil {
		return nil, err
	}
	many, err := runBenchmarks(ctx, binary, benchJudging, manyRuns)
	if err != nil {
		return nil, err
	}
	signature := median(times[benchSignature])
	return []row{
		row{Name: "decode_effects_policy: a swap of 1,000 bytes, over one signature", Value: median(times[benchJudging]), Unit: "us"}.over(signature).judged(10),
		row{Name: "the same with its guard: decoded and judged twice", Value: median(times[benchGuarded]), Unit: "us"}.over(signature),
		row{Name: "decode_effects_policy: allocations in 10,000 runs, over 100 runs", Value: many[benchJudging].allocations, Unit: "a run"}.
			over(few[benchJudging].allocations).judged(1.01),
	}, nil
}

// benchmark is one line of the benchmarks' output.
type benchmark struct {
	nanoseconds, allocations float64
}

func runBenchmarks(ctx context.Context, binary, which, time string) (map[string]benchmark, error) {
	out, err := exec.CommandContext(ctx, binary, "-test.run", "^$", "-test.bench", which, "-test.benchtime", time).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", filepath.Base(binary), err, out)
	}
	return readBenchmarks(string(out))
}

// readBenchmarks reads lines like
//
//	BenchmarkName-8   100   12345 ns/op   678 B/op   9 allocs/op
func readBenchmarks(out string) (map[string]benchmark, error) {
	results := make(map[string]benchmark)
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		var result benchmark
		for i := 2; i+1 < len(fields); i += 2 {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, fmt.Errorf("benchmark line %q: %w", strings.TrimSpace(line), err)
			}
			switch fields[i+1] {
			case "ns/op":
				result.nanoseconds = value
			case "allocs/op":
				result.allocations = value
			}
		}
		name, _, _ := strings.Cut(fields[0], "-")
		results[name] = result
	}
	if len(results) == 0 {
		return nil, errors.New("the benchmarks measured nothing")
	}
	return results, nil
}
