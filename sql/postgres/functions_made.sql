-- From what texts the functions were made.
select name, checksum from dibs.functions;
