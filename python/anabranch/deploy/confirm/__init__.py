"""Plans that go back by themselves unless they are confirmed."""
