package main

import "context"

// flowTests is where the benchmarks of whole proposals and executions are, and
// their names.
const (
	flowTests = "./signerd/internal/flow/soak"

	benchFloor          = "BenchmarkFloor"
	benchPropose        = "BenchmarkPropose"
	benchExecute        = "BenchmarkExecute"
	benchExecuteAtATime = "BenchmarkExecuteInParallel"
)

// measureFlow compares a proposal and an execution, less the time of the RPC node,
// with one durable commit, one durable audit record and one signature. The round
// trip over the socket is in neither.
func measureFlow(ctx context.Context, folder string) ([]row, error) {
	binary, err := buildBenchmarks(ctx, folder, flowTests)
	if err != nil {
		return nil, err
	}
	names := []string{benchFloor, benchPropose, benchExecute}
	at := make(map[string]map[string]float64)
	for _, part := range []string{"p50-ns", "p99-ns"} {
		if at[part], err = medians(ctx, binary, "300x", names, func(b benchmark) float64 { return b.metrics[part] }); err != nil {
			return nil, err
		}
	}
	means, err := timeBenchmarks(ctx, binary, "300x", benchExecute, benchExecuteAtATime)
	if err != nil {
		return nil, err
	}
	p50, p99 := at["p50-ns"], at["p99-ns"]
	return []row{
		row{Name: "propose without RPC, p50, over commit + record + signature", Value: p50[benchPropose], Unit: "us"}.over(p50[benchFloor]).judged(2),
		row{Name: "propose without RPC, p99, over the same", Value: p99[benchPropose], Unit: "us"}.over(p99[benchFloor]).judged(5),
		row{Name: "execute without RPC, p50, over the same", Value: p50[benchExecute], Unit: "us"}.over(p50[benchFloor]).judged(2),
		row{Name: "execute without RPC, p99, over the same", Value: p99[benchExecute], Unit: "us"}.over(p99[benchFloor]).judged(5),
		row{Name: "execute: one of 64 transfers at a time, over one by one", Value: means[benchExecuteAtATime], Unit: "us"}.over(means[benchExecute]).judged(0.2),
	}, nil
}
