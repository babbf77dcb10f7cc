#' Predictions for records
#'
#' The records are sent to the curator, which keeps none of them. To predict without sending
#' any, export the model as a file and read it in R or elsewhere (`privet export`).
#'
#' @inheritParams privet_fit
#' @param newdata Data frame with one row per record and the task's columns by name. Factors count
#'   as their texts, and `NA` as missing. The label's column is ignored; other columns that the task
#'   does not have are refused, as are dates.
#' @param model Number of the model; by default the one that serves.
#' @param curator A [privet_curator()].
#' @return A data frame with one row per record. `label` is the likeliest class, or the mean label.
#'   If the label has classes, `value_<class>` are their predicted shares. `cell` is the record's
#'   cell and `path` the splits that lead to it. Of the holders in that cell, `cell_value` are the
#'   shares or the mean, `cell_low` and `cell_high` the ends of their 95 percent intervals, with
#'   `_<class>` behind each if the label has classes. `outside` names the fields whose number lies
#'   outside the published range, whose nearest end counts.
#' @examples
#' \dontrun{
#' privet_predict("survey", data.frame(age = c(30, 71), ward = c("heart", "medical")))
#' }
#' @export
privet_predict <- function(task, newdata, model = NULL, curator = privet_curator()) {
  if (!is.data.frame(newdata)) {
    refuse("invalid_request", "newdata must be a data frame with one row per record.")
  }
  task <- task_id(task, curator)
  columns <- lapply(stats::setNames(nm = names(newdata)), function(name) encoded(newdata[[name]], name))
  parts <- list()
  start <- 0L
  size <- 20000L # the most that a curator takes in a call; some take fewer
  while (start < nrow(newdata) || length(parts) == 0) {
    rows <- seq_len(min(size, nrow(newdata) - start)) + start
    answer <- tryCatch(
      call_curator(curator, paste0("/tasks/", task, "/predict"), predict_body(columns, rows, model)),
      privet_too_large = function(problem) if (size == 1L) stop(problem) else NULL
    )
    if (is.null(answer)) {
      size <- size %/% 2L
      next
    }
    model <- answer$model # of all parts, also if another is promoted meanwhile
    parts[[length(parts) + 1L]] <- predictions(answer)
    start <- start + length(rows)
  }
  do.call(rbind, parts)
}

# The JSON texts of a column's values, to 17 digits, so that a number arrives as it is.
encoded <- function(values, name) {
  if (is.factor(values)) values <- as.character(values)
  texts <- if (is.character(values)) {
    vapply(enc2utf8(values), function(text) as.character(jsonlite::toJSON(text, auto_unbox = TRUE)), "",
      USE.NAMES = FALSE
    )
  } else if (is.logical(values)) {
    ifelse(values, "true", "false")
  } else if (is.numeric(values) && !is.object(values)) {
    if (any(is.infinite(values))) {
      refuse("invalid_record", sprintf("The column '%s' has an infinite number: no range has one.", name))
    }
    sprintf("%.17g", values)
  } else {
    refuse("invalid_record", sprintf(
      "The column '%s' is of class %s: make it a number, a text or a truth value.", name, class(values)[1]
    ))
  }
  texts[is.na(values)] <- "null"
  texts
}

predict_body <- function(columns, rows, model) {
  names <- vapply(names(columns), function(name) as.character(jsonlite::toJSON(name, auto_unbox = TRUE)), "")
  values <- vapply(columns, function(texts) paste(texts[rows], collapse = ","), "")
  columns <- paste0(names, ":[", values, "]", recycle0 = TRUE, collapse = ",")
  paste0('{"columns":{', columns, '},"model":', if (is.null(model)) "null" else as.integer(model), "}")
}

predictions <- function(answer) {
  classes <- unlist(answer$classes)
  rows <- length(answer$label)
  cells <- vapply(answer$cell, as.integer, 1L)
  frame <- data.frame(label = if (rows) unlist(answer$label) else character(), cell = cells)
  parts <- c(if (length(classes)) "values", "cell_value", "cell_low", "cell_high")
  for (part in parts) {
    numbers <- matrix(
      as.double(unlist(answer[[part]])),
      nrow = rows, ncol = max(1L, length(classes)), byrow = TRUE
    )
    name <- sub("values", "value", part)
    for (i in seq_len(ncol(numbers))) {
      frame[[if (length(classes)) paste0(name, "_", classes[i]) else name]] <- numbers[, i]
    }
  }
  frame$path <- vapply(answer$cell, function(cell) {
    paste(unlist(answer$paths[[as.character(cell)]]), collapse = " and ")
  }, "")
  frame$outside <- vapply(answer$outside, function(names) paste(unlist(names), collapse = ", "), "")
  frame
}
