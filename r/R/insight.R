#' Comparison of the holders with the public records
#'
#' @inheritParams privet_predict
#' @param curator A [privet_curator()] with the token of an admin, a fitter or a reader.
#' @return A data frame of class `privet_insight`, which prints with the curator's sentence above it
#'   (`attr(x, "sentence")`). The first rows compare overall figures (`path` is `"overall"`), one per
#'   class or one for the mean label; the others are the cells that differ significantly, most
#'   significant first. With a register the sentence also has the figures of all its people. `name` is the class, `NA` where the cell's mass differs; `reported` is the
#'   figure of the holders, `low` to `high` its 95 percent interval (of the intervals of listed cells one
#'   in twenty misses), `public` the figure of the public records, `p_value` tests that both populations are
#'   alike, and differences of `seen_from` or more would have shown with a probability of 80 percent.
#'   A task without features has no model and no public records: the last three are `NA` or 1.
#'   `attr(x, "groups")` has the same figures of two to four groups that all holders are divided into,
#'   where reports tell enough of one: a row for each group (`path`, and its `part` of the holders) and
#'   class, which `differs` from that of the public records where a test of all these rows says so.
#' @examples
#' \dontrun{
#' privet_insight("survey")
#' }
#' @export
privet_insight <- function(task, model = NULL, curator = privet_curator()) {
  task <- task_id(task, curator)
  path <- if (is.null(model)) "insight" else sprintf("models/%d/insight", as.integer(model))
  insight <- call_curator(curator, sprintf("/tasks/%s/%s", task, path))
  rows <- c(insight$overall, insight$differences)
  paths <- c(
    rep("overall", length(insight$overall)),
    vapply(insight$differences, function(row) paste(unlist(row$path), collapse = " and "), "")
  )
  frame <- data.frame(
    path = paths,
    name = column(rows, "name"),
    reported = column(rows, "reported", as.double),
    low = column(rows, "low", as.double),
    high = column(rows, "high", as.double),
    public = column(rows, "public", as.double),
    p_value = column(rows, "p_value", as.double),
    seen_from = column(rows, "seen_from", as.double)
  )
  structure(
    frame,
    class = c("privet_insight", "data.frame"),
    sentence = trimws(paste(insight$sentence, insight$of_register)), model = insight$model, reports = insight$reports,
    groups = groups_of(insight$groups)
  )
}

# a row for each group and class
groups_of <- function(groups) {
  figures <- unlist(lapply(groups, function(group) {
    of <- list(path = paste(unlist(group$path), collapse = " and "), part = group$part)
    lapply(group$figures, function(figure) c(of, figure))
  }), recursive = FALSE)
  data.frame(
    path = column(figures, "path"),
    part = column(figures, "part", as.double),
    name = column(figures, "name"),
    reported = column(figures, "value", as.double),
    low = column(figures, "low", as.double),
    high = column(figures, "high", as.double),
    public = column(figures, "public", as.double),
    differs = column(figures, "differs", as.logical)
  )
}

#' @export
print.privet_insight <- function(x, ...) {
  if (!is.null(attr(x, "sentence"))) cat(strwrap(attr(x, "sentence")), "", sep = "\n")
  print(structure(x, class = "data.frame", sentence = NULL, model = NULL, reports = NULL, groups = NULL), ...)
  invisible(x)
}

#' Distribution of a number that was asked alone
#'
#' @param task Task without features, as in [privet_fit()].
#' @param curator A [privet_curator()] with the token of an admin, a fitter or a reader.
#' @return A data frame with one row per bin: the share of the holders around its `level`, with its 95
#'   percent interval `low` to `high`, and the ends `up_to_low` and `up_to_high` for the part of them up
#'   to that level. `attr(x, "quantiles")` has the quantiles: `part`, `value`, `low` and `high`. Without
#'   rows for a class, and for a number whose mean alone was asked.
#' @examples
#' \dontrun{
#' privet_distribution("sleep")
#' }
#' @export
privet_distribution <- function(task, curator = privet_curator()) {
  task <- task_id(task, curator)
  found <- call_curator(curator, sprintf("/tasks/%s/insight", task))$distribution
  numbers <- function(rows, names) {
    as.data.frame(sapply(names, function(name) column(rows, name, as.double), simplify = FALSE))
  }
  bins <- numbers(found$bins, c("level", "share", "low", "high", "up_to_low", "up_to_high"))
  structure(bins, quantiles = numbers(found$quantiles, c("part", "value", "low", "high")))
}
