// How long work tells the person who waits for it what goes on. A library tells it, the program
// decides how it is shown (apps/console.h). Any thread that does the work may call it: an
// implementation synchronises itself. Whoever is given one borrows it.
#pragma once

#include <functional>
#include <string>

namespace metis {

class Narrator {
 public:
  virtual ~Narrator() = default;

  // A line.
  virtual void Say(const std::string& line) = 0;
  // A line about what is wrong, but stops nothing.
  virtual void Warn(const std::string& line) = 0;

  // What goes on from now on, in a word, and how far it is: `part` in [0, 1]. Cheap: `details` are
  // worked out only where they are shown, a few times a second.
  virtual void Begin(const std::string& label) = 0;
  virtual void Update(double part, const std::function<std::string()>& details) = 0;
  virtual void End() = 0;
};

}  // namespace metis
