// client_server.mjs - start `s2prune serve` for a client of it.
import { spawn } from 'node:child_process';

export const [program, root] = process.argv.slice(2);
const servers = [];

// Resolves with the process and the address of its API.
export function start(...options) {
  return new Promise((resolve, reject) => {
    const server = spawn(program, ['serve', '--port', '0', ...options], { stdio: ['ignore', 'ignore', 'pipe'] });
    servers.push(server);
    let log = '';
    server.stderr.on('data', (piece) => {
      log += piece;
      const found = /^api +(http:\S+)$/m.exec(log);
      if (found) resolve({ server, baseURL: found[1] });
    });
    server.on('exit', () => reject(new Error(log)));
  });
}

// Runs a suite, and leaves no server behind.
export async function suite(main) {
  try {
    await main();
  } finally {
    for (const server of servers) server.kill('SIGKILL');
  }
  process.exit(0);
}
