ON_THIS_MACHINE <- "^https?://(localhost|127\\.[0-9.]+|\\[::1\\])(:|/|$)"

#' A curator and the token for it
#'
#' @param url Address of the curator. By default `PRIVET_URL` of the environment, or
#'   `http://127.0.0.1:8000`.
#' @param token Token of an admin, a fitter or a reader; by default `PRIVET_TOKEN` of the
#'   environment. Listing tasks and predicting need none.
#' @param timeout Seconds to wait for an answer; a fit can take minutes.
#' @param insecure_http Allow plain http to another machine, where the token could be read on the way.
#' @return An object of class `privet_curator`, which prints without its token.
#' @examples
#' privet_curator("https://curator.example.org", token = "a-token")
#' @export
privet_curator <- function(url = Sys.getenv("PRIVET_URL", "http://127.0.0.1:8000"),
                           token = Sys.getenv("PRIVET_TOKEN"),
                           timeout = 600, insecure_http = FALSE) {
  if (!grepl("^https?://", url)) {
    refuse("invalid_request", sprintf("The address '%s' has no scheme: put http:// or https:// in front of it.", url))
  }
  if (grepl("^http://", url) && !grepl(ON_THIS_MACHINE, url) && !insecure_http) {
    refuse("unsafe_address", sprintf("Plain http to '%s' can be read on the way: use https, or insecure_http = TRUE.", url))
  }
  structure(
    list(url = sub("/+$", "", url), token = trimws(token), timeout = timeout),
    class = "privet_curator"
  )
}

#' @export
print.privet_curator <- function(x, ...) {
  cat("<privet curator>", x$url, if (nzchar(x$token)) "with a token" else "without a token", "\n")
  invisible(x)
}

# Raise a condition of class `privet_error`, which `tryCatch` can tell by its kind.
refuse <- function(kind, detail, status = NULL) {
  stop(errorCondition(
    detail,
    class = c(paste0("privet_", kind), "privet_error"), call = NULL, status = status
  ))
}

# The JSON answer to a call, or the condition that its problem document names.
call_curator <- function(curator, path, body = NULL) {
  request <- httr2::request(paste0(curator$url, "/v1", path))
  request <- httr2::req_user_agent(request, "privet-r")
  request <- httr2::req_timeout(request, curator$timeout)
  request <- httr2::req_options(request, followlocation = FALSE) # a token goes to nobody else
  if (grepl(ON_THIS_MACHINE, curator$url)) {
    request <- httr2::req_options(request, noproxy = "*")
  }
  request <- httr2::req_error(request, is_error = function(response) FALSE)
  if (nzchar(curator$token)) request <- httr2::req_auth_bearer_token(request, curator$token)
  if (!is.null(body)) request <- httr2::req_body_raw(request, body, "application/json")
  response <- tryCatch(httr2::req_perform(request), error = function(problem) {
    reason <- conditionMessage(if (is.null(problem$parent)) problem else problem$parent)
    refuse("unreachable", sprintf("No curator answers at %s (%s).", curator$url, reason))
  })
  status <- httr2::resp_status(response)
  document <- tryCatch(
    jsonlite::fromJSON(httr2::resp_body_string(response), simplifyVector = FALSE),
    error = function(problem) NULL
  )
  if (status < 300 && !is.null(document)) {
    return(document)
  }
  if (is.null(document$detail) || is.null(document$type)) {
    refuse("unexpected_response", sprintf(
      "%s answered %d and is not understood: check that it is the address of a curator.",
      curator$url, status
    ), status)
  }
  kind <- gsub("-", "_", sub("^.*:", "", document$type))
  refuse(kind, document$detail, status)
}

# The id of a task that is given by its id, its beginning, its name, its address, or a row of tasks.
task_id <- function(task, curator) {
  if (is.data.frame(task)) {
    if (nrow(task) != 1 || is.null(task$id)) {
      refuse("invalid_request", "Give one task: a row of privet_tasks().")
    }
    task <- task$id
  }
  named <- sub("/+$", "", sub(paste0(curator$url, "/v1/tasks/"), "", task, fixed = TRUE))
  if (nchar(named) == 64) {
    return(named)
  }
  tasks <- privet_tasks(curator)
  found <- if (nzchar(named)) tasks$id[startsWith(tasks$id, named)] else character()
  if (length(found) == 0) found <- tasks$id[tasks$name == named]
  if (length(found) == 0) refuse("task_not_found", sprintf("No task has the id or name '%s'.", named))
  if (length(found) > 1) {
    refuse("invalid_request", sprintf(
      "'%s' could be %s: give more of the id.", named, paste(substr(found, 1, 16), collapse = ", ")
    ))
  }
  found
}

task_path <- function(task, curator) paste0("/tasks/", task_id(task, curator))

# A value of a document, NA where it is absent or null.
or_na <- function(value, kind) if (is.null(value)) kind(NA) else kind(value)

# One column from a list of documents.
column <- function(documents, name, kind = as.character) {
  vapply(documents, function(document) or_na(document[[name]], kind), kind(NA))
}

as_time <- function(texts) as.POSIXct(texts, format = "%Y-%m-%dT%H:%M:%OSZ", tz = "UTC")
