import { snake } from './model.mjs';

const comment = (text, indent = '') =>
  text ? `${indent}/** ${text.replaceAll('*/', '*\\/').replaceAll(/\s+/g, ' ')} */\n` : '';

function typeOf(shape, indent = '') {
  const text = plain(shape, indent);
  return shape.nullable ? `${text} | null` : text;
}

function plain(shape, indent) {
  switch (shape.kind) {
    case 'ref':
      return shape.name;
    case 'any':
      return 'unknown';
    case 'enum':
      return shape.values.map((value) => `'${value}'`).join(' | ');
    case 'integer':
      return 'number';
    case 'array': {
      const items = typeOf(shape.items, indent);
      return / [|] /.test(items) ? `(${items})[]` : `${items}[]`;
    }
    case 'map':
      return `Record<string, ${typeOf(shape.values, indent)}>`;
    case 'object':
      return `{\n${fieldsOf(shape.fields, `${indent}  `)}${indent}}`;
    case 'none':
      return 'undefined';
    case 'text':
      return 'string';
    default:
      return shape.kind;
  }
}

const fieldsOf = (fields, indent) =>
  fields
    .map(
      ({ name, description, required, shape }) =>
        `${comment(description, indent)}${indent}${name}${required ? '' : '?'}: ${typeOf(shape, indent)};\n`,
    )
    .join('');

const declared = (type) =>
  type.kind === 'object' && !type.nullable
    ? `${comment(type.description)}export interface ${type.name} ${plain(type, '')}\n`
    : `${comment(type.description)}export type ${type.name} = ${typeOf(type)};\n`;

function functionOf({ id, summary, method, path, segments, query, headers, body, bodyRequired, answer }) {
  const given = [...query, ...headers];
  const parameters = [
    'client: Caller',
    ...segments.map(({ name, shape }) => `${name}: ${typeOf(shape)}`),
    ...(body ? [`body${bodyRequired ? '' : '?'}: ${typeOf(body)}`] : []),
    given.length > 0
      ? `options: CallOptions & {\n${fieldsOf(
          given.map((one) => ({ ...one, name: snake(one.name) })),
          '    ',
        )}  } = {}`
      : 'options: CallOptions = {}',
  ];
  const names = (list, key) =>
    list.length > 0
      ? [`${key}: { ${list.map((one) => `${quoted(one.name)}: options.${snake(one.name)}`).join(', ')} }`]
      : [];
  const url = path.replaceAll(/\{(\w+)\}/g, (_, name) => `\${part(${name})}`);
  const request = [
    `method: '${method}'`,
    `path: ${segments.length > 0 ? `\`${url}\`` : `'${url}'`}`,
    ...(body ? ['body'] : []),
    ...names(query, 'query'),
    ...names(headers, 'headers'),
    ...(answer.kind === 'text' ? ['asText: true'] : []),
  ];
  return `${comment(summary)}export const ${id} = (
  ${parameters.join(',\n  ')},
): Promise<${typeOf(answer)}> =>
  client.request({ ${request.join(', ')} }, options);
`;
}

const quoted = (name) => (/^\w+$/.test(name) ? name : `'${name}'`);

export const typescriptOf = ({ types, operations }) =>
  `// Generated from openapi/openapi.json by \`npm run generate\`. Do not edit.

import { type Caller, type CallOptions, part } from './caller.ts';

${types.map(declared).join('\n')}
${operations.map(functionOf).join('\n')}`;
