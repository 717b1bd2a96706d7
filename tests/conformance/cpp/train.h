#pragma once

// What the training reports; null functions are not called.
struct Listener {
  void (*enter)(const char* part) = nullptr;
  void (*leave)() = nullptr;
  void (*end_of_step)() = nullptr;
};

// Trains for three steps, prints each loss exactly, and returns the number in argv[1], 0 without one.
int train(int argc, char** argv, const Listener& listener);
