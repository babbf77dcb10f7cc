#' Tasks of a curator
#'
#' @param curator A [privet_curator()].
#' @return A data frame with one row per task, oldest first: `id`, `name`, `state` (`draft`, `open`
#'   or `closed`), `phase` (by its dates and quota also `not-yet-open`, `full` or `over`),
#'   `collecting` (whether reports count now), `created` (time in UTC), `label`, `epsilon` (privacy
#'   budget of one holder) and `questions` (how many).
#' @examples
#' \dontrun{
#' privet_tasks()
#' }
#' @export
privet_tasks <- function(curator = privet_curator()) {
  tasks <- call_curator(curator, "/tasks")
  data.frame(
    id = column(tasks, "id"),
    name = column(tasks, "name"),
    state = column(tasks, "state"),
    phase = column(tasks, "phase"),
    collecting = column(tasks, "collecting", as.logical),
    created = as_time(column(tasks, "created")),
    label = column(tasks, "label"),
    epsilon = column(tasks, "epsilon", as.double),
    questions = column(tasks, "questions", as.integer)
  )
}

#' Fit a model to the reports so far
#'
#' A fit is post-processing of private reports, so it costs no privacy, however often it is repeated.
#' The first model of a task serves: it predicts where none is named.
#'
#' @param task Task: its id, the beginning of it, its name, its address, or a row of
#'   [privet_tasks()].
#' @param estimator Name of the estimator; by default the curator's default.
#' @param ... Parameters of the estimator, by name.
#' @param promote Whether the new model serves from now on; needs the token of an admin.
#' @param curator A [privet_curator()] with the token of an admin or a fitter.
#' @return A data frame with one row: `number`, `estimator`, `reports`, `cells`, `serving`,
#'   `created`, and where the curator can estimate them from reports alone the model's `accuracy`,
#'   `brier_score` (from 0, the best, to 1) and `log_loss` for people like the holders, each with the
#'   ends of its 95 percent interval in `_low` and `_high`. `same_as` is the number of the first model
#'   that has the same answers and settings, so that this one predicts the same, or `NA`.
#' @examples
#' \dontrun{
#' privet_fit("survey")
#' privet_fit("survey", "weighted", weight = 2)
#' }
#' @export
privet_fit <- function(task, estimator = NULL, ..., promote = FALSE, curator = privet_curator()) {
  parameters <- list(...)
  if (length(parameters) && (is.null(names(parameters)) || any(names(parameters) == ""))) {
    refuse("invalid_request", "Give the estimator's parameters by name, such as weight = 2.")
  }
  names(parameters) <- names(parameters) %||% character()
  body <- list(estimator = estimator, parameters = parameters, promote = promote)
  body <- jsonlite::toJSON(body, auto_unbox = TRUE, null = "null", digits = NA)
  fitted <- list(call_curator(curator, paste0(task_path(task, curator), "/models"), body))
  cbind(models_frame(fitted), same_as = column(fitted, "same_as", as.integer))
}

#' Fitted models of a task
#'
#' @inheritParams privet_fit
#' @param curator A [privet_curator()].
#' @return A data frame with one row per model, oldest first, and the columns of [privet_fit()] but for
#'   `same_as`.
#' @examples
#' \dontrun{
#' privet_models("survey")
#' }
#' @export
privet_models <- function(task, curator = privet_curator()) {
  models_frame(call_curator(curator, paste0(task_path(task, curator), "/models")))
}

`%||%` <- function(one, other) if (is.null(one)) other else one

models_frame <- function(models) {
  frame <- data.frame(
    number = column(models, "number", as.integer),
    estimator = column(models, "estimator"),
    reports = column(models, "reports", as.double),
    cells = column(models, "cells", as.integer),
    serving = vapply(models, function(model) "serving" %in% unlist(model$aliases), logical(1)),
    created = as_time(column(models, "created"))
  )
  for (score in unique(unlist(lapply(models, function(model) names(model$scores))))) {
    scores <- lapply(models, function(model) model$scores[[score]])
    name <- gsub("[^a-z]+", "_", tolower(score))
    frame[[name]] <- column(scores, "value", as.double)
    frame[[paste0(name, "_low")]] <- column(scores, "low", as.double)
    frame[[paste0(name, "_high")]] <- column(scores, "high", as.double)
  }
  frame
}

# The number of the model that is meant: the one that serves where none is named.
model_number <- function(task, model, curator) {
  if (!is.null(model)) {
    return(as.integer(model))
  }
  models <- privet_models(task, curator)
  if (nrow(models) == 0) refuse("model_not_found", "The task has no model yet: call privet_fit().")
  serving <- models$number[models$serving]
  if (length(serving)) serving[length(serving)] else max(models$number)
}
