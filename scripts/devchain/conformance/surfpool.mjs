// Surfpool, the second server. Its events must be drained, or it stops answering.

import { createRequire } from 'node:module';

const DRAIN_MS = 20;

export function startSurfpool(slotTimeMs) {
  const { Surfnet } = createRequire(import.meta.url)('@solana/surfpool-linux-x64-gnu');
  const surfnet = Surfnet.startWithConfig({ offline: true, blockProductionMode: 'clock', slotTimeMs });
  const drain = setInterval(() => surfnet.drainEvents(), DRAIN_MS);
  return {
    rpc: surfnet.rpcUrl,
    ws: surfnet.wsUrl,
    close() {
      clearInterval(drain);
      surfnet.stop();
    },
  };
}

// The package exists for one platform.
export const surfpoolRuns =
  process.platform === 'linux' && process.arch === 'x64' && Boolean(process.report.getReport().header.glibcVersionRuntime);
