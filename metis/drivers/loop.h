// The port to time: a host does everything in tasks of one loop, one after the other, and so needs
// no locks. A thread of this process is one loop (event_loop.h), a machine in virtual time another
// (sim/machine.h).
#pragma once

#include <functional>

#include "metis/core/time.h"

namespace metis::drivers {

class Loop {
 public:
  using Task = std::function<void()>;

  virtual ~Loop() = default;
  // Any thread: the time of this loop's clock, which only advances.
  virtual Instant now() const = 0;
  // Any thread. Tasks are done in the order in which they were posted.
  virtual void Post(Task task) = 0;
  // Any thread. Not before `due`.
  virtual void At(Instant due, Task task) = 0;
  // Whether the caller is a task of this loop.
  virtual bool on_loop() const = 0;
};

}  // namespace metis::drivers
