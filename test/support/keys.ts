import type { Service } from './service.ts';

export const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

/** Creates access keys on a service, with an admin key that it creates first. */
export async function withKeys(service: Service) {
  const admin: string = (await service.call('POST', '/keys', { name: 'admin', scopes: ['admin'] })).body.key;
  return {
    admin,
    as: bearer(admin),
    async create(fields: { name: string; scopes: string[]; [field: string]: unknown }) {
      const { status, body } = await service.call('POST', '/keys', fields, bearer(admin));
      if (status !== 201) throw new Error(JSON.stringify(body));
      return body as { id: string; key: string; [field: string]: unknown };
    },
  };
}

/** The key with one digit of its secret changed, and its checksum as it was. */
export const withTypo = (key: string) => key.slice(0, 60) + (key[60] === '0' ? '1' : '0') + key.slice(61);
