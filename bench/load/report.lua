-- Every script prints one line of JSON at the end: the sums of the threads' counters.
-- A thread's counters are globals named in `counters`.
local M = { threads = {} }

function M.setup(thread)
  table.insert(M.threads, thread)
end

function M.done(counters)
  return function(summary, latency)
    local parts = {}
    for _, name in ipairs(counters) do
      local sum = 0
      for _, thread in ipairs(M.threads) do sum = sum + (thread:get(name) or 0) end
      parts[#parts + 1] = string.format('"%s":%d', name, sum)
    end
    parts[#parts + 1] = string.format('"seconds":%.6f', summary.duration / 1e6)
    parts[#parts + 1] = string.format('"requests":%d', summary.requests)
    parts[#parts + 1] = string.format('"p50_ms":%.3f', latency:percentile(50) / 1000)
    parts[#parts + 1] = string.format('"p99_ms":%.3f', latency:percentile(99) / 1000)
    local errors = summary.errors
    parts[#parts + 1] = string.format('"not_2xx":%d', errors.status)
    parts[#parts + 1] = string.format('"broken":%d', errors.connect + errors.read + errors.write + errors.timeout)
    print("RESULT {" .. table.concat(parts, ",") .. "}")
  end
end

local authorization
local function credentials()
  authorization = authorization or (wrk.headers["Authorization"] and "\r\nAuthorization: " .. wrk.headers["Authorization"] or "")
  return authorization
end

-- A request as text. wrk.format walks over tables each time, which takes processor time from the service.
function M.post(path, body, headers)
  return "POST " .. path .. " HTTP/1.1\r\nHost: " .. wrk.headers["Host"] ..
    credentials() .. "\r\n" .. (headers or "") .. "Content-Type: application/json\r\nContent-Length: " .. #body .. "\r\n\r\n" .. body
end

return M
