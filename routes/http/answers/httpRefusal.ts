import { type FieldError, Refusal, type RefusalCode } from '../../../src/errors.ts';

/** The codes of requests that HTTP refuses: no verb ever hears of them. */
export type HttpCode =
  | 'route_not_found'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'headers_too_large'
  | 'internal';

/** Every code of a problem document. */
export type ProblemCode = RefusalCode | HttpCode;

export const httpRefusal = (code: HttpCode, detail: string, errors?: FieldError[]) =>
  new Refusal<HttpCode>(code, detail, errors);
