"""What several tests share: the answers to the exercises, and a class of made-up students."""
