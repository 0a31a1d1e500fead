-- POST /jobs, one job per request. Arguments: the job.
local report = require("report")
created, other = 0, 0
setup = report.setup
done = report.done({ "created", "other" })

function init(args)
  wrk.method = "POST"
  wrk.headers["content-type"] = "application/json"
  wrk.body = args[1]
  local text = wrk.format("POST", "/jobs")
  request = function() return text end
end

function request() return nil end
