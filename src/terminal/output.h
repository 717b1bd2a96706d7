// Output of the program: results to stdout, everything else to stderr.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/log.h"
#include "base/result.h"

namespace opdump::terminal {

// Appends to stdout (buffered). Errors are kept until flush_output. Names in dumps may contain anything:
// characters that could control a terminal are escaped (base/text/printable.h), except our tables' colours
// where colours are wanted.
void print(std::string_view text);

// Prints JSON in the same way; a line stays one line.
void print_json(std::string_view text);

// Prints whole lines on stderr in the same way, without the prefix "opdump:".
void print_log(std::string_view text);

// "opdump: message" and a line feed on stderr, escaped as print() does it.
void print_error(std::string_view message);

// Prints messages of a library in the same way: a LogSink.
void print_remark(LogLevel level, std::string_view line);

// Errors: io -- writing to stdout failed (disk full), so the output is incomplete.
Result<> flush_output();

// From here on, writing to a reader that has gone (`| head`) ends the process without a word, with this
// status; unless SIGPIPE is ignored: flush_output reports it then. A program that the process executes has
// the signal as it was.
void end_when_unread(int status);

// True if stdout is a terminal, or a pager on one.
bool prints_to_terminal();

// Columns of the terminal that stdout is; 0 if it is none.
std::size_t terminal_width();

enum class Colour : std::uint8_t { automatic, always, never };
// What the user has asked for.
void set_colour(Colour colour);

// As set_colour() says; automatic: stdout is a terminal that supports colours, NO_COLOR is unset or empty,
// TERM is not "dumb".
bool wants_colour();

}  // namespace opdump::terminal
