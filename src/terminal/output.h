// Where the words go: answers to stdout, everything else to stderr.
#pragma once

#include <string_view>

#include "base/log.h"
#include "base/result.h"

namespace opdump::terminal {

// Appends to stdout (buffered). Errors are kept until flush_output. Names in dumps are anything: what would
// harm who reads it is escaped (base/printable.h), except for the colours of our own tables.
void print(std::string_view text);

// The same for JSON, a line of which stays one.
void print_json(std::string_view text);

// The same for whole lines on stderr that begin in their own way.
void print_log(std::string_view text);

// "opdump: message" and a line feed on stderr, escaped as print() does it.
void print_error(std::string_view message);

// The same for what a library says meanwhile: a LogSink.
void print_remark(LogLevel level, std::string_view line);

// Errors: io -- something could not be written to stdout (disk full), and the answer is not whole.
Result<> flush_output();

// True if people read answers as they come.
bool prints_to_terminal();

// True if stdout is a terminal that should get colours: NO_COLOR is unset or empty, TERM is not "dumb".
bool wants_colour();

}  // namespace opdump::terminal
