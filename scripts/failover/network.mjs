import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const ip = (...args) => execFileSync('ip', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/** A network of its own on this machine: a bridge, and a namespace for each host. It needs root. */
export function openNetwork() {
  const name = `dibs${process.pid % 100000}`;
  const subnet = `10.213.${process.pid % 250}`;
  const hosts = [];
  ip('link', 'add', name, 'type', 'bridge');
  ip('address', 'add', `${subnet}.1/24`, 'dev', name);
  ip('link', 'set', name, 'up');

  return {
    /** Another host. Its processes are those in its namespace, and no others. */
    addHost() {
      const number = hosts.length + 2;
      const namespace = `${name}-${number}`;
      const cable = `${name}v${number}`;
      const address = `${subnet}.${number}`;
      const inside = (...args) => ip('netns', 'exec', namespace, 'ip', ...args);
      ip('netns', 'add', namespace);
      ip('link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace);
      ip('link', 'set', cable, 'master', name, 'up');
      inside('address', 'add', `${address}/24`, 'dev', 'eth0');
      inside('link', 'set', 'eth0', 'up');
      inside('link', 'set', 'lo', 'up');
      inside('route', 'add', 'default', 'via', `${subnet}.1`);
      const pids = () => ip('netns', 'pids', namespace).split('\n').filter(Boolean).map(Number);
      const host = {
        address,
        namespace,
        pids,
        /** To all of its processes, or to those of this name. */
        signal(signal, name) {
          for (const pid of pids())
            try {
              const is = readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
              if (name === undefined || name === is) process.kill(pid, signal);
            } catch {
              // It has ended by itself.
            }
        },
        /** Every packet to it and from it is lost. Nobody is told. */
        cut: () => ip('link', 'set', cable, 'down'),
        mend: () => ip('link', 'set', cable, 'up'),
      };
      hosts.push(host);
      return host;
    },
    close() {
      for (const { signal, namespace } of hosts) {
        signal('SIGKILL');
        ip('netns', 'delete', namespace);
      }
      ip('link', 'delete', name);
    },
  };
}
