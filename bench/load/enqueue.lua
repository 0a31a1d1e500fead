wrk.method = "POST"
wrk.headers["content-type"] = "application/json"
wrk.body = '{"queue":"bench","payload":{"to":"ada@example.com","template":"welcome","n":1}}'
