import { useEffect, useState } from 'preact/hooks';

/** Where the page is: `#/queues/mail/jobs?state=dead`. The part behind `#` never reaches the server. */
export interface Route {
  parts: string[];
  parameters: URLSearchParams;
}

function parse(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?');
  const parts = path.split('/').filter(Boolean);
  try {
    return { parts: parts.map(decodeURIComponent), parameters: new URLSearchParams(search) };
  } catch {
    return { parts: ['nowhere'], parameters: new URLSearchParams() };
  }
}

/** The link to a place in the page. */
export function link(parts: string[], parameters: Record<string, string> = {}): string {
  const search = new URLSearchParams(
    Object.entries(parameters).filter(([, value]) => value !== ''),
  ).toString();
  return `#/${parts.map(encodeURIComponent).join('/')}${search === '' ? '' : `?${search}`}`;
}

export const go = (to: string): void => {
  location.hash = to;
};

/** As `go`, without a step of its own in the history. */
export const replace = (to: string): void => location.replace(to);

export function useRoute(): Route {
  const [route, setRoute] = useState(() => parse(location.hash));
  useEffect(() => {
    const changed = () => setRoute(parse(location.hash));
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  return route;
}
