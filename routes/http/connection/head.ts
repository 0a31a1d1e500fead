import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Access } from '../../../src/access/access.ts';
import { httpRefusal } from '../answers/httpRefusal.ts';
import { invalidPart } from '../answers/invalidPart.ts';
import { pointerTo } from '../json/pointer.ts';
import { pageCheck, type WebPages } from '../security/webPages.ts';

/** How often a header is in a request. Node drops or joins the repeated ones. */
export function timesSent(rawHeaders: string[], name: string): number {
  let times = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]?.length === name.length && rawHeaders[i]?.toLowerCase() === name) times++;
  return times;
}

/** @throws Refusal for too many headers */
function checkNumber(rawHeaders: string[], maxHeaders: number): void {
  if (rawHeaders.length > 2 * maxHeaders)
    throw httpRefusal('headers_too_large', `The request has more than ${maxHeaders} headers.`);
}

/** @throws Refusal unless there is one `Host`; HTTP/1.0 needs none */
function checkHost({ rawHeaders, httpVersionMinor }: FastifyRequest['raw']): void {
  const hosts = timesSent(rawHeaders, 'host');
  if (hosts === 1 || (hosts === 0 && httpVersionMinor !== 1)) return;
  const message = hosts === 0 ? 'is required' : 'must not be sent twice';
  throw invalidPart([{ in: 'header', path: '/host', message }]);
}

/** The text that a percent-encoded part of a query stands for, or undefined if it is not percent-encoded UTF-8. */
function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

/** @throws Refusal for a query that is not percent-encoded UTF-8. Fastify takes such a text as it is. */
function checkQuery(url: string): void {
  const start = url.indexOf('?');
  if (start < 0 || !url.includes('%', start) || decoded(url.slice(start)) !== undefined) return;
  const names = url
    .slice(start + 1)
    .split('&')
    .filter((parameter) => decoded(parameter) === undefined)
    .map((parameter) => decoded(parameter.split('=', 1)[0] as string));
  const path = names[0] === undefined ? '' : pointerTo(names[0]);
  throw invalidPart([{ in: 'query', path, message: 'must be percent-encoded UTF-8' }]);
}

const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/i;
const UTF_8 = /^utf-?8$/i;

/** @throws Refusal for a body that is compressed, or not declared as UTF-8 */
function checkEncodings({ method, headers }: FastifyRequest): void {
  if (method === 'GET' || method === 'HEAD') return;
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity')
    throw httpRefusal(
      'unsupported_media_type',
      `The content-encoding ${JSON.stringify(encoding)} is not supported. Send the body as it is.`,
    );
  const charset = CHARSET.exec(headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && !UTF_8.test(charset))
    throw httpRefusal(
      'unsupported_media_type',
      `The charset ${JSON.stringify(charset)} is not supported. Send JSON in UTF-8.`,
    );
}

/**
 * Refuses a request by its head, before its body is read: with too many headers, without one `Host`, from a web page that
 * may not send it, or with a query or body in an encoding that Dibs would misread.
 */
export function checkHeads(
  app: FastifyInstance,
  options: { access: Access; webPages: WebPages | undefined; maxHeaders: number },
): void {
  const { access, webPages, maxHeaders } = options;
  const checkPage = webPages && pageCheck(webPages);
  app.addHook('onRequest', (request, _, done) => {
    try {
      checkNumber(request.raw.rawHeaders, maxHeaders);
      checkHost(request.raw);
      if (access.isOpen()) checkPage?.(request);
      checkQuery(request.url);
      checkEncodings(request);
      done();
    } catch (error) {
      done(error as Error);
    }
  });
}
