-- POST /jobs, each with a text of its own. Arguments: a prefix that no other run has, the headers and the job. In one of
-- them, # stands for the prefix and a number.
local report = require("report")
created, other = 0, 0
setup = report.setup
done = report.done({ "created", "other" })

local head, tail, n = nil, nil, 0

function init(args)
  local width = #args[1] + 9
  local headers, body = args[2], args[3]
  local length = #body + (body:find("#", 1, true) and width - 1 or 0)
  local text = "POST /jobs HTTP/1.1\r\nHost: " .. wrk.headers["Host"] .. "\r\nContent-Type: application/json\r\n" ..
    headers .. "Content-Length: " .. length .. "\r\n\r\n" .. body
  local at = text:find("#", 1, true)
  head, tail = text:sub(1, at - 1) .. args[1], text:sub(at + 1)
end

function request()
  n = n + 1
  return head .. string.format("%09d", n) .. tail
end
