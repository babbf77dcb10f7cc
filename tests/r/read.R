# Prints as JSON what the package says of a task, for test_r.py to compare with Python's client.
library(privet)
asked <- jsonlite::fromJSON(file("stdin"))
asked$records <- utils::type.convert(asked$records, as.is = !isTRUE(asked$factors))
kinds <- function(condition) setdiff(class(condition), c("error", "condition"))
refusal <- function(call) tryCatch({ call; NULL }, privet_error = function(problem) {
  list(kinds = kinds(problem), detail = conditionMessage(problem))
})
said <- list(
  tasks = privet_tasks(),
  fit = privet_fit(asked$task),
  again = privet_fit(asked$task),
  weighted = privet_fit(asked$task, "weighted", weight = 2, promote = TRUE),
  models = privet_models(asked$task),
  predictions = privet_predict(asked$task, asked$records),
  first = privet_predict(asked$task, asked$records[1, , drop = FALSE], model = 1),
  insight = unclass(privet_insight(asked$task)),
  sentence = attr(privet_insight(asked$task), "sentence"),
  groups = attr(privet_insight(asked$task), "groups"),
  printed = utils::capture.output(print(privet_curator())),
  by = lapply(asked$names, function(name) privet_models(name)$number),
  row = privet_models(subset(privet_tasks(), id == asked$task))$number,
  refusals = list(
    estimator = refusal(privet_fit(asked$task, "oak")),
    task = refusal(privet_models("no such task")),
    token = refusal(privet_fit(asked$task, curator = privet_curator(token = "guessed"))),
    unnamed = refusal(privet_fit(asked$task, "weighted", 2)),
    date = refusal(privet_predict(asked$task, data.frame(age = Sys.Date()))),
    infinite = refusal(privet_predict(asked$task, data.frame(age = Inf))),
    column = refusal(privet_predict(asked$task, asked$records[, 1, drop = FALSE])),
    scheme = refusal(privet_curator("curator.example.org")),
    nobody = refusal(privet_tasks(privet_curator("http://127.0.0.1:9")))
  )
)
cat(jsonlite::toJSON(said, auto_unbox = TRUE, digits = NA, na = "null", null = "null"))
