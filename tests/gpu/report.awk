# Writes the report from what the parts of a run have left: the first file lists the steps, each other one describes a
# part; its output lies beside it. A few lines that answer every question come first. What run knows comes by the
# environment, with GPU_CHECK_ before its name.
BEGIN {
  FS = "\t"
}

FNR == 1 { file++ }
file == 1 { number[$2] = $1; title[$2] = $3; order[++steps] = $2; next }

{
  base = FILENAME
  sub(/\.part$/, "", base)
  tally(base ".out")
  # Failures may quote other programs, whose counts do not count.
  while ((getline line <(base ".err")) > 0) text = text line "\n"
  close(base ".err")
  judge($1, $2, $3, $4, $5, $6, $7)
}

END {
  head()
  for (i = 1; i <= steps; i++) {
    if (!(order[i] in body)) continue
    print "\n## " number[order[i]] ". " order[i] ": " title[order[i]] "\n\n" body[order[i]]
  }
  print all_passed + 0, all_failed + 0, all_skipped + 0 >env("summary")
}

function env(name) { return ENVIRON["GPU_CHECK_" name] }

# --- counting -------------------------------------------------------------------------------

# tally(FILE): adds the output of the current part to its counts, reasons, failures and text.
function tally(log_file,    line, n, word, before, sentence) {
  while ((getline line <log_file) > 0) {
    sub(/\r$/, "", line)
    text = text line "\n"
    # A program's counts at its end. The last line counts: before it, a test may quote a program that it ran.
    if (match(line, /[0-9]+ passed[,;] [0-9]+ failed([,;] [0-9]+ (skipped|ignored))?/) &&
        (line ~ /^[^ ]+: [0-9]+ passed, / || line ~ /^test result: /)) {
      n = split(substr(line, RSTART, RLENGTH), word, /[ ,;]+/)
      said = "yes"
      passed = word[1]; failed = word[3]; skipped = n > 4 ? word[5] : 0
    } else if (line ~ /^\[==========\] [0-9]+ tests? .* ran\./) {
      said = "yes"
      passed = failed = skipped = 0
    } else if (line ~ /^\[  (PASSED|FAILED|SKIPPED)[ ]+\] [0-9]+ tests?/) {
      split(substr(line, 14), word, " ")
      if (line ~ /PASSED/) passed = word[1]
      if (line ~ /FAILED/) failed = word[1]
      if (line ~ /SKIPPED/) skipped = word[1]
    } else if (line ~ /^not ok/) {
      lost_failed++
      note_failure(line)
    } else if (line ~ /^(missed: |test .* \.\.\. FAILED|\[  FAILED  \] .*\()/) {
      lost_failed++
      note_failure(line)
    } else if (line ~ /^skipped: /) {
      sentence = substr(line, 10)
      n = 1
      # One line may stand for several: its number is in brackets.
      if (match(sentence, / \([0-9]+\)$/)) {
        n = substr(sentence, RSTART + 2, RLENGTH - 3) + 0
        sentence = substr(sentence, 1, RSTART - 1)
      }
      match(sentence, /: /)
      note_reason(substr(sentence, RSTART + 2), n)
      lost_skipped += n
    } else if (match(line, /^skipped - .*\(/)) {
      note_reason(substr(line, RLENGTH + 1, length(line) - RLENGTH - 1), 1)
      lost_skipped++
    } else if (before ~ /: Skipped$/) {
      note_reason(line, 1)
    } else if (line ~ /^ok - .*\(found: /) {
      lost_passed++
      found = found "      " substr(line, 6) "\n"
    } else if (line ~ /^(ok - |test .* \.\.\. ok|\[       OK \] )/) {
      lost_passed++
    }
    before = line
  }
  close(log_file)
}

function note_failure(line) { failures[++failure_count] = line }

function note_reason(reason, n) {
  if (!(reason in reasons)) reason_list[++reason_count] = reason
  reasons[reason] += n
  reasoned += n
}

# judge(…): the counts of the part that was read, its line and its text go into its step's body.
function judge(step, name, kind, state, status, limit, seconds,    why, line) {
  if (state == "running") running = step "/" name
  # A program that was ended, or has not ended yet, is counted by its lines.
  if (!said) { passed = lost_passed + 0; failed = lost_failed + 0; skipped = lost_skipped + 0 }
  if (state == "not started") {
    skipped = 1
    note_reason(seconds, 1)
    why = seconds
  } else if (state == "running") {
    why = "still running"
  } else if (state == "killed") {
    why = "no end within " limit " s"
    failed++
  } else if (status == 77 && failed == 0 && passed == 0) {
    if (!skipped) { skipped = 1; note_reason("no reason was given", 1) }
  } else if (status != 0) {
    # A program that reached its end has counted its failures; one that did not has one more.
    if (status > 128 && status < 160) why = "signal " (status - 128)
    else if (!failed || !said) why = "exit status " status
    if (!failed || !said) failed++
  } else if (passed + failed == 0) {
    why = skipped ? "nothing ran, and its exit status does not say so" : "it counted nothing"
    failed = 1
  }
  all_passed += passed; all_failed += failed; all_skipped += skipped
  if (passed) by_step_passed[step] += passed
  if (failed) failed_parts = failed_parts (failed_parts == "" ? "" : ", ") step "/" name (why == "" ? "" : " (" why ")")
  line = sprintf("%s: %d passed, %d failed, %d skipped", name, passed, failed, skipped)
  if (state != "not started") line = line ", " (state == "running" ? "" : seconds " s")
  sub(/, $/, "", line)
  body[step] = body[step] "- " line (why == "" ? "" : ": " why) "\n"
  if (kind == "text" && text != "") body[step] = body[step] "\n" shown(text) "\n"
  else if (failed && text != "") body[step] = body[step] "\n" quoted(text) "\n"
  # A check's finding where the documentation leaves it open.
  if (found != "") body[step] = body[step] "\n" found "\n"
  said = text = found = ""
  passed = failed = skipped = lost_passed = lost_failed = lost_skipped = failure_count = 0
}

# shown(TEXT): what a step printed as Markdown, without the lines that the head collects.
function shown(all,    lines, n, i, out) {
  n = split(all, lines, "\n")
  for (i = 1; i < n; i++) {
    if (lines[i] ~ /^skipped: / || lines[i] ~ /^[a-z_-]+: [0-9]+ passed, /) continue
    # Its headings are below the step's.
    out = out (lines[i] ~ /^#/ ? "##" : "") lines[i] "\n"
  }
  return out
}

# quoted(TEXT): the failures and the last lines, indented: so they are quoted as they stand, as part of the line above.
function quoted(all,    lines, n, i, out) {
  for (i = 1; i <= failure_count && i <= 40; i++) out = out "      " failures[i] "\n"
  n = split(all, lines, "\n") - 1
  if (failure_count && n > 30) out = out "      …\n"
  for (i = n > 30 ? n - 29 : 1; i <= n; i++) out = out "      " lines[i] "\n"
  return out
}

# --- the head -------------------------------------------------------------------------------

function described(key,    line, found) {
  while ((getline line <(ENVIRON["GPU_CHECK_DESCRIPTION"] ".out")) > 0) {
    if (index(line, key ": ") == 1) { found = substr(line, length(key) + 3); break }
  }
  close(ENVIRON["GPU_CHECK_DESCRIPTION"] ".out")
  return found
}

function of_file(file_name,    line, all) {
  while ((getline line <file_name) > 0) all = all (all == "" ? "" : ", ") line
  close(file_name)
  return all
}

function head(    device, i, j, name, line, rest) {
  device = described("device")
  if (device == "") device = env("no_gpu") == "" ? "a device that could not be described" : "no GPU"
  if (env("simulated") != "") {
    print "# SIMULATED driver: this shows that scripts/gpu-check works. No GPU was used, and the figures mean nothing"
  } else {
    print "# The library on a GPU: " device ", " substr(env("date"), 1, 10)
  }
  print ""
  line = "- device: " device
  if (env("no_gpu") != "") line = line ": " env("no_gpu")
  if (described("memory") != "")
    line = line ", " described("memory") ", compute capability " described("capability") ", one of " described("devices")
  if (described("cuda") != "") line = line "; the driver is for CUDA " described("cuda")
  print line
  print "- " of_file(env("about"))
  line = "- run: " env("date") ", " env("seconds") " s, "
  if (env("finished") != "") line = line "to its end"
  else if (env("interrupted") != "") line = line "interrupted" (running == "" ? "" : " in " running)
  else line = line "cut or still running" (running == "" ? "" : ", in " running)
  print line
  for (i = 1; i <= steps; i++) {
    name = order[i]
    if (by_step_passed[name]) rest = rest (rest == "" ? ": " : ", ") name " " by_step_passed[name]
  }
  print "- passed: " all_passed + 0 rest
  print "- failed: " all_failed + 0 (failed_parts == "" ? "" : ": " failed_parts)
  print "- skipped: " all_skipped + 0 grouped()
  print "- settings in the environment: " (env("settings") == "" ? "none" : env("settings"))
}

# grouped(): the reasons, most frequent first. The sections have those that are left.
function grouped(    i, j, best, out, left, left_over) {
  left = all_skipped - reasoned
  for (i = 1; i <= reason_count && i <= 12; i++) {
    best = 0
    for (j = 1; j <= reason_count; j++) {
      if (reason_list[j] in reasons && (!best || reasons[reason_list[j]] > reasons[reason_list[best]])) best = j
    }
    out = out (out == "" ? ": " : "; ") reasons[reason_list[best]] " " reason_list[best]
    left_over += reasons[reason_list[best]]
    delete reasons[reason_list[best]]
  }
  if (reason_count > 12) out = out "; " reasoned - left_over " for " reason_count - 12 " other reasons"
  if (left > 0) out = out (out == "" ? ": " : "; ") left " without a reason"
  return out
}
