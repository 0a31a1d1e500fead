module example.com/cycle

go 1.23

require example.com/queue/dibs v0.0.0

replace example.com/queue/dibs => ../generated
