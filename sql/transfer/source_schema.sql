-- Names of this transaction are those of the schema in which another queue is.
select set_config('search_path', quote_ident(:schema), true);
