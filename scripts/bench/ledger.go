package main

import "context"

// ledgerTests is where the benchmarks of the ledger are, and their names.
const (
	ledgerTests = "./signerd/internal/ledger/speed"

	benchShort    = "BenchmarkCheckShortLedger"
	benchLong     = "BenchmarkCheckLongLedger"
	benchSingle   = "BenchmarkReserveOneByOne"
	benchParallel = "BenchmarkReserveInParallel"
)

func measureLedger(ctx context.Context, folder string) ([]row, error) {
	binary, err := buildBenchmarks(ctx, folder, ledgerTests)
	if err != nil {
		return nil, err
	}
	times, err := timeBenchmarks(ctx, binary, "200ms", benchShort, benchLong, benchSingle, benchParallel)
	if err != nil {
		return nil, err
	}
	return []row{
		row{Name: "ledger: check of the caps after 1,000,000 events, over 1,000", Value: times[benchLong], Unit: "us"}.over(times[benchShort]).judged(1.3),
		row{Name: "ledger: one of 64 reservations at a time, over one by one", Value: times[benchParallel], Unit: "us"}.over(times[benchSingle]).judged(0.2),
	}, nil
}
