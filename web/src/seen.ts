import { Fragment, options, type VNode } from 'preact';
import { safe } from '../../src/unseen.ts';

/*
 * All text goes to the screen through here, whoever wrote it: no screen can forget it. What nobody sees is written out. A text of
 * nothing but spaces stands in quotes: a link must have something to click.
 */

const isBlank = (text: string) => text !== '' && text.trim() === '';

function seen(children: unknown): unknown {
  if (Array.isArray(children)) return children.map(seen);
  return typeof children === 'string' ? safe(children) : children;
}

/** The attributes that are read. */
const READ = ['title', 'aria-label'];

/** Shows the text of an element, or of several of them. */
function showText({ type, props }: VNode): void {
  if (typeof type !== 'string' && type !== Fragment) return;
  const own = props as Record<string, unknown>;
  const { children } = own;
  if (children !== undefined)
    own.children =
      typeof children === 'string' && isBlank(children) ? JSON.stringify(children) : seen(children);
  for (const name of READ) if (typeof own[name] === 'string') own[name] = safe(own[name]);
}

/** From now on. */
export function showAllText(): void {
  options.vnode = showText;
}
