// Where the user of this process keeps things, by the environment. What needs to know is told.
#pragma once

#include <string>

namespace metis::apps {

// Of the user's participants, one below it for each: ~/.local/state/metis, or where XDG_STATE_HOME
// says; empty where neither that nor HOME is set.
std::string StatesOfUser();

// Of known data sets: ~/.local/share/metis/data; "metis-data" where there is no home.
std::string DefaultDataDirectory();

}  // namespace metis::apps
