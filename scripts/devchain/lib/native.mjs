// Loads the VM: the native package alone, without the JavaScript wrapper and what that drags in.

import { createRequire } from 'node:module';

export function loadNative() {
  const name = `litesvm-${platform()}`;
  try {
    return createRequire(import.meta.url)(name);
  } catch (cause) {
    throw new Error(`cannot load ${name}: run "make setup" (npm ci in scripts/devchain)`, { cause });
  }
}

function platform() {
  if (process.platform !== 'linux') return `${process.platform}-${process.arch}`;
  const glibc = process.report.getReport().header.glibcVersionRuntime;
  return `linux-${process.arch}-${glibc ? 'gnu' : 'musl'}`;
}
