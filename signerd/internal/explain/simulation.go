package explain

import (
	"countersign/shared/amount"
	"countersign/shared/solana"
)

// viewSimulation tells the worst that any node shows, where the judge has asked
// them all.
func (s *study) viewSimulation() Simulation {
	out, in := s.moved()
	if s.judged.Stamped() && s.judged.Effects().Simulated() {
		out, in = map[solana.PublicKey]amount.Units{}, map[solana.PublicKey]amount.Units{}
		for _, change := range s.judged.Effects().Changes() {
			if change.Out > 0 {
				out[change.Mint] = change.Out
			}
			if change.In > 0 {
				in[change.Mint] = change.In
			}
		}
	}
	view := Simulation{
		State: s.simulationState(), Out: s.amounts(out), In: s.amounts(in), Control: s.control(), Called: s.parties(s.called()),
	}
	if !s.simulated {
		view.Why = s.reason(s.unsimulated)
	}
	return view
}

const notRun = "not_run"

func (s *study) simulationState() string {
	switch {
	case s.simulated:
		return "succeeded"
	case s.offline == nil && s.tx.Stamped() && (s.valid || s.replaced):
		return "failed"
	}
	return notRun
}

func (s *study) called() []solana.PublicKey {
	return s.simulation.Called[:min(len(s.simulation.Called), mostAccounts)]
}
