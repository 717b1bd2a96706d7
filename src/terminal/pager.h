// Shows what is printed screen by screen if it is longer than the terminal: with $PAGER, else with less.
#pragma once

namespace opdump::terminal {

// As long as one exists, print() holds its text back until it is known to be longer than the terminal, and
// then starts the pager. Does nothing if stdout is no terminal, or if PAGER is empty or "cat". At most one at
// a time.
class Pager {
 public:
  Pager();
  Pager(const Pager&) = delete;
  Pager& operator=(const Pager&) = delete;
  ~Pager();  // prints what is held back, or waits until the user has left the pager
};

}  // namespace opdump::terminal
