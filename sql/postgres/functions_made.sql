-- The checksums of the texts from which the functions were made.
select name, checksum from dibs.functions;
