-- Records a migration as applied.
insert into dibs.migrations (version, name, oldest) values (:version, :name, :oldest);
