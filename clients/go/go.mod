module dibs.example/dibs

go 1.22
