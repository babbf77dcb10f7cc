#' Comparison of the holders with the public records
#'
#' @inheritParams privet_predict
#' @param curator A [privet_curator()] with the token of an admin, a fitter or a reader.
#' @return A data frame of class `privet_insight`, which prints with the curator's sentence above it
#'   (`attr(x, "sentence")`). The first rows compare overall figures (`path` is `"overall"`), one per
#'   class or one for the mean label; the others are the cells that differ significantly, most
#'   significant first. `name` is the class, `NA` where the cell's mass differs; `reported` is the
#'   figure of the holders, `low` to `high` its 95 percent interval (of the intervals of listed cells one
#'   in twenty misses), `public` the figure of the public records, `p_value` tests that both populations are
#'   alike, and differences of `seen_from` or more would have shown with a probability of 80 percent.
#' @examples
#' \dontrun{
#' privet_insight("survey")
#' }
#' @export
privet_insight <- function(task, model = NULL, curator = privet_curator()) {
  task <- task_id(task, curator)
  number <- model_number(task, model, curator)
  insight <- call_curator(curator, sprintf("/tasks/%s/models/%d/insight", task, number))
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
    sentence = insight$sentence, model = insight$model, reports = insight$reports
  )
}

#' @export
print.privet_insight <- function(x, ...) {
  if (!is.null(attr(x, "sentence"))) cat(strwrap(attr(x, "sentence")), "", sep = "\n")
  print(structure(x, class = "data.frame", sentence = NULL, model = NULL, reports = NULL), ...)
  invisible(x)
}
