import { pascal } from './model.mjs';

const comment = (text, indent = '') => (text ? `${indent}// ${text.replaceAll(/\s+/g, ' ')}\n` : '');

/** Types with names that have an empty value of their own. */
let nilable = new Set();

/** Optional and nullable values are pointers, but for those that have an empty value of their own. */
function typeOf(shape, required) {
  const text = plain(shape);
  const isPointer = (shape.nullable || !required) && !/^(\[\]|map\[|json\.)/.test(text) && !nilable.has(text);
  return isPointer ? `*${text}` : text;
}

function plain(shape) {
  switch (shape.kind) {
    case 'ref':
      return shape.name;
    case 'any':
      return 'json.RawMessage';
    case 'string':
    case 'enum':
    case 'text':
      return 'string';
    case 'integer':
      return 'int64';
    case 'number':
      return 'float64';
    case 'boolean':
      return 'bool';
    case 'array':
      return `[]${plain(shape.items)}`;
    case 'map':
      return `map[string]${plain(shape.values)}`;
    default:
      return 'map[string]any';
  }
}

function structOf(name, description, fields, tag) {
  const lines = fields.map(({ name: field, description: text, required, shape }) => {
    const type = typeOf(shape, required);
    return `${comment(text, '\t')}\t${pascal(field)} ${type}${tag ? ` \`json:"${field}${required ? '' : ',omitempty'}"\`` : ''}\n`;
  });
  return `${comment(description && `${name}: ${description}`)}type ${name} struct {\n${lines.join('')}}\n`;
}

const declared = (type) =>
  type.kind === 'object'
    ? structOf(type.name, type.description, type.fields, true)
    : `${comment(type.description && `${type.name}: ${type.description}`)}type ${type.name} = ${plain(type)}\n`;

/** Names of parameters that are words of Go. */
const safe = (name) => (name === 'range' || name === 'type' ? `${name}_` : name);

function methodOf({ id, summary, method, path, segments, query, headers, body, answer }) {
  const given = [...query, ...headers];
  const name = pascal(id);
  const parameters = [
    'ctx context.Context',
    ...segments.map(({ name: segment }) => `${safe(segment)} string`),
    ...(body ? [`body ${plain(body)}`] : []),
    ...(given.length > 0 ? [`options *${name}Options`] : []),
  ];
  const url = path
    .split(/\{(\w+)\}/)
    .map((part, i) => (i % 2 ? `url.PathEscape(${safe(part)})` : `"${part}"`))
    .filter((part) => part !== '""')
    .join(' + ');
  const set = (list, into) =>
    list.map((one) => `\t\tput(call.${into}, "${one.name}", options.${pascal(one.name)})\n`).join('');
  const options =
    given.length > 0 ? `\tif options != nil {\n${set(query, 'query')}${set(headers, 'header')}\t}\n` : '';
  const structs =
    given.length > 0
      ? `${structOf(
          `${name}Options`,
          `what ${name} may be told.`,
          given.map((one) => ({ ...one, required: false })),
          false,
        )}\n`
      : '';
  const start = `\tcall := newCall("${method}", ${url}, ${body ? 'body' : 'nil'})\n${options}`;
  const head = `${structs}// ${name}: ${summary}.\nfunc (c *Client) ${name}(${parameters.join(', ')})`;
  if (answer.kind === 'none') return `${head} error {\n${start}\treturn c.do(ctx, call, nil)\n}\n`;
  const type = plain(answer);
  return `${head} (*${type}, error) {\n${start}\tvar answer ${type}\n\tif err := c.do(ctx, call, &answer); err != nil {\n\t\treturn nil, err\n\t}\n\treturn &answer, nil\n}\n`;
}

export function goOf({ types, operations }) {
  nilable = new Set(types.filter(({ kind }) => kind === 'map' || kind === 'array').map(({ name }) => name));
  return `// Code generated from openapi/openapi.json by \`npm run generate\`. DO NOT EDIT.

package dibs

import (
	"context"
	"encoding/json"
	"net/url"
)

${types.map(declared).join('\n')}
${operations.map(methodOf).join('\n')}`;
}
